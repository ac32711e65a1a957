//! Empty: the programs in `cases` must not compile, and `tests` compares their errors with snapshots.
