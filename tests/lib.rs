//! Tests of memory-engine as a whole, one file for each subject; there is nothing to import here.
