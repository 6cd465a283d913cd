"""What agents for mixture MDPs share."""
