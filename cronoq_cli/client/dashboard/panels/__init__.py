"""One panel a file: a pure function from what is shown to lines of a given width and height."""
