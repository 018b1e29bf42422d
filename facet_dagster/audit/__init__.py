"""Anyone's Harbor tasks put to the gates: read a folder, build each image, examine, report."""
