"""The tasks with physics, one file each; they register as tasks of other packages do."""
