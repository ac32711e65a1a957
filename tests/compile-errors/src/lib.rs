//! Has no code: `cases` are programs that do not compile, and `tests` compares their errors with snapshots.
