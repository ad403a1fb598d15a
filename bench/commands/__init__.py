"""The subcommands, one file a group."""
