//! Snapshots of the compile errors for common mistakes. `TRYBUILD=overwrite` records them.

#[test]
fn mistakes_have_helpful_errors() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_errors/*.rs");
}
