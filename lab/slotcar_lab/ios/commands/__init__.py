"""EXEC mode. Importing a module of this package registers its commands (`registry.COMMANDS`)."""
