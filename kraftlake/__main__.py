"""Starts the command: `python -P -m kraftlake`, and the script that an installation has."""

from replica.import_path import leave_out_current_folder

if __name__ == "__main__":
    leave_out_current_folder()  # Before the imports of what runs: without -P it comes first.

from jobs.cli.start import main

if __name__ == "__main__":
    main()
