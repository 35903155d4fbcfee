"""Starts the command: `python -P -m jobs.cli`."""

from replica.import_path import leave_out_current_folder

if __name__ == "__main__":
    # before the other imports: without -P the current folder comes first
    leave_out_current_folder()

from jobs.cli.start import main

if __name__ == "__main__":
    main()
