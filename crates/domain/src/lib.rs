//! What several controllers share and is pure: ids, kinds, retry classes, label merging. No IO.
