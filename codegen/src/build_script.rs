//! Generating code from build scripts.

use std::path::PathBuf;

use mcpgen_model::text::names::escape;
use mcpgen_schema::Error;
use mcpgen_schema::text::visible;

/// Writes a module below `OUT_DIR`, and a file that declares it. `write` also returns the inputs. Cargo runs the script
/// again when one of them changes.
pub(crate) fn include_in_build<T>(
    name: &str,
    write: impl FnOnce(PathBuf) -> Result<(T, Vec<String>), Error>,
) -> Result<T, Error> {
    let out = std::env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .ok_or_else(|| Error::Usage("OUT_DIR is not set; outside a build script, use `write_to`".to_owned()))?;
    let (written, inputs) = write(out.join(name))?;
    let include = out.join(format!("{name}.include.rs"));
    // `include!` does not accept inner doc comments, so the file to include declares the module.
    let declaration = format!(
        "#[allow(unreachable_pub, reason = \"it may be inside a private module\")]\npub mod {};\n",
        escape(name)
    );
    std::fs::write(&include, declaration).map_err(Error::io("writing", &include))?;
    #[expect(clippy::print_stdout, reason = "cargo reads instructions from the output of a build script")]
    for input in inputs {
        println!("{}", instruction("rerun-if-changed", &input));
    }
    Ok(written)
}

/// Returns an instruction for Cargo. Line breaks separate instructions, so the value must not contain one.
pub(crate) fn instruction(name: &str, value: &str) -> String {
    format!("cargo::{name}={}", visible(value))
}
