"""Value-targeted regression, which the agents for mixture MDPs share."""
