"""Our MDPs as Gymnasium environments."""
