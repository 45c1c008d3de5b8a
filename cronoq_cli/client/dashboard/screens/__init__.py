"""The main screen and what comes up over it: help, confirmations, a line to type into, a list to choose from."""
