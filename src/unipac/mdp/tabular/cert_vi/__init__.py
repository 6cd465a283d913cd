"""CertVI: its pseudo-code and class, its rules, its kernels."""
