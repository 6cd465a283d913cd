"""What tests of several folders share: cases, checks, judges, processes."""
