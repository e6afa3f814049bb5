"""Start Spark, and create and configure its sessions."""
