//! Runs mcpgen in a temporary project.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Variables that must not influence the tests.
pub(crate) const FOREIGN: [&str; 7] =
    ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

pub(crate) struct Project {
    pub(crate) home: TempDir,
}

impl Project {
    pub(crate) fn empty() -> Project {
        Project { home: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below home")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpgen"));
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.run_in(".", arguments)
    }

    pub(crate) fn run_in(&self, folder: &str, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).current_dir(self.path(folder)).output().expect("mcpgen runs");
        Answer { arguments: arguments.join(" "), output }
    }
}

pub(crate) struct Answer {
    pub(crate) arguments: String,
    pub(crate) output: Output,
}

impl Answer {
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Answer {
        let (out, err) = (self.out(), self.err());
        assert_eq!(self.output.status.code(), Some(code), "mcpgen {}\n{out}\n{err}", self.arguments);
        assert!(!err.contains("panicked"), "{err}");
        if code == 2 {
            assert!(err.starts_with("error: "), "{err}");
            assert_eq!(out, "", "mcpgen {}: an error prints nothing to standard output", self.arguments);
        }
        self
    }

    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Answer {
        let all = format!("{}{}", self.out(), self.err());
        for part in parts {
            assert!(all.contains(part), "mcpgen {} does not print {part:?}:\n{all}", self.arguments);
        }
        self
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}
