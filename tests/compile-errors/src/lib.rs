//! Has no code. The programs in `cases` do not compile, and `tests` compares their errors with snapshots.
