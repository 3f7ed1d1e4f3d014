//! Wire types of every kind, and the names of labels, annotations and conditions. No IO.
