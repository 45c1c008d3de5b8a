"""What is generated from the commands and the settings: manual pages and completions. `python -m` writes them all."""
