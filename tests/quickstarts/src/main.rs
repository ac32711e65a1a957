//! Runs the quickstart that `QUICKSTART` names, such as `client 2025-11-25`. Without it, lists all of them.

#![allow(deprecated, reason = "a revision may deprecate what it still has")]

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The side, the revision, the number of calls, and the program.
type Quickstart = (&'static str, &'static str, usize, fn() -> Outcome);

include!(concat!(env!("OUT_DIR"), "/quickstarts.rs"));

fn main() -> Outcome {
    let Ok(wanted) = std::env::var("QUICKSTART") else {
        QUICKSTARTS.iter().for_each(|(side, revision, calls, _)| println!("{side} {revision} {calls}"));
        return Ok(());
    };
    let found = QUICKSTARTS.iter().find(|(side, revision, ..)| format!("{side} {revision}") == wanted);
    let (.., main) = found.ok_or_else(|| format!("there is no quickstart {wanted:?}"))?;
    main()
}
