//! Measures how long packages that use the types take to build: everything from scratch, the types crate alone, and the
//! package alone.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report::{Case, Goal, OURS, Section};
use crate::rustc::{self, Unit};
use crate::sample::median;

/// Builds the consumers in turn, for this many rounds. `quick` is one round with the dev profile.
pub fn run(quick: bool, rounds: usize) -> anyhow::Result<Vec<Section>> {
    fetch()?;
    let (rounds, profiles) = if quick { (1, &Profile::ALL[..1]) } else { (rounds, &Profile::ALL[..]) };
    let mut cases = Vec::new();
    for &profile in profiles {
        let mut costs = vec![Costs::default(); CONSUMERS.len()];
        for round in 0..rounds {
            for place in 0..CONSUMERS.len() {
                // Each round begins with another consumer, so that none always benefits from its position.
                let index = (place + round) % CONSUMERS.len();
                costs[index].add(measure(&CONSUMERS[index], profile).context(CONSUMERS[index].name)?);
            }
        }
        REVISIONS.iter().for_each(|revision| cases.extend(table(profile, revision, &costs)));
    }
    let title = "Cold builds: a package that depends on the crate, with an empty target directory, offline".to_owned();
    Ok(vec![Section { name: "cold", title, cases, notes: NOTES.iter().map(|&note| note.to_owned()).collect() }])
}

const NOTES: &[&str] = &[
    "`control` depends only on serde with `derive` and on serde_json; its codec uses `serde_json::Value`. `+ utils` is \
     rust-mcp-schema with its default feature `schema_utils`, which adds a type for all messages of a client or \
     server. rmcp is built without features, which leaves its model.",
    "All codecs decode and encode the same two messages, and their output is compared with these messages. `the \
     codec adds` is the time that rustc takes for the bin with the codec, minus that for the bin that only names a \
     type; each is built alone.",
    "mcpgen-types is compiled like a crate from a registry: without incremental compilation and lints.",
];

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const CONTROL: &str = "control";
const PEER: &str = "rust-mcp-schema";

/// A package in `consumers/`, and how it is built.
struct Consumer {
    name: &'static str,
    package: &'static str,
    /// The crate that contains the types, or `None` for the control.
    types: Option<&'static str>,
    /// `None` if the package is the same for all revisions.
    revision: Option<&'static str>,
    features: &'static str,
}

const CONSUMERS: [Consumer; 8] = [
    Consumer { name: CONTROL, package: "consumer-control", types: None, revision: None, features: "" },
    ours("2025-11-25"),
    ours("2026-07-28"),
    peer(PEER, "2025-11-25", "2025-11-25"),
    peer(PEER, "2026-07-28", "2026-07-28"),
    peer("rust-mcp-schema + utils", "2025-11-25", "2025-11-25,utils"),
    peer("rust-mcp-schema + utils", "2026-07-28", "2026-07-28,utils"),
    Consumer {
        name: "rmcp",
        package: "consumer-rmcp",
        types: Some("rmcp"),
        revision: Some("2025-11-25"),
        features: "",
    },
];

const fn ours(revision: &'static str) -> Consumer {
    let (package, types) = ("consumer-mcpgen", Some("mcpgen-types"));
    Consumer { name: OURS, package, types, revision: Some(revision), features: revision }
}

const fn peer(name: &'static str, revision: &'static str, features: &'static str) -> Consumer {
    let (package, types) = ("consumer-rust-mcp-schema", Some("rust-mcp-schema"));
    Consumer { name, package, types, revision: Some(revision), features }
}

impl Consumer {
    fn messages(&self) -> [Value; 2] {
        let mut params = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
        let mut result = json!({ "content": [{ "type": "text", "text": "5" }], "isError": false });
        if let Some("2026-07-28") = self.revision {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            result["resultType"] = json!("complete");
        }
        [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": result }),
        ]
    }

    fn codec(&self) -> String {
        format!("{}-codec", self.package)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Profile {
    Dev,
    Release,
}

impl Profile {
    const ALL: [Self; 2] = [Self::Dev, Self::Release];

    fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }

    /// Returns the name of the profile's folder in the target folder.
    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }
}

#[derive(Clone, Default)]
struct Costs {
    wall: Vec<f64>,
    cpu: Vec<f64>,
    crates: Vec<f64>,
    types: Vec<f64>,
    plain: Vec<f64>,
    codec: Vec<f64>,
    again: Vec<f64>,
}

impl Costs {
    fn add(&mut self, round: Self) {
        self.wall.extend(round.wall);
        self.cpu.extend(round.cpu);
        self.crates.extend(round.crates);
        self.types.extend(round.types);
        self.plain.extend(round.plain);
        self.codec.extend(round.codec);
        self.again.extend(round.again);
    }

    fn codec_adds(&self) -> f64 {
        median(self.codec.clone()) - median(self.plain.clone())
    }
}

fn table(profile: Profile, revision: &str, costs: &[Costs]) -> Vec<Case> {
    let case = |what: &str, unit: &'static str, figure: &dyn Fn(&Costs) -> f64| {
        let of = CONSUMERS.iter().zip(costs).filter(|(consumer, _)| consumer.revision.is_none_or(|of| of == revision));
        let figures = of.map(|(consumer, costs)| (consumer.name.to_owned(), figure(costs)));
        let measured = figures.filter(|(_, figure)| !figure.is_nan()).collect();
        Case::new(format!("{} {revision}: {what}", profile.as_str()), unit, measured).base(PEER)
    };
    let (whole, alone) = match profile {
        Profile::Dev => (0.6, 0.45),
        Profile::Release => (0.75, 0.85),
    };
    let mut cases = vec![
        case("cold build", "s", &|costs| median(costs.wall.clone()))
            .goal(Goal::at_most(whole, PEER))
            .goal(Goal::at_most(1.0, CONTROL)),
        case("cold build, work of all cores", "s", &|costs| median(costs.cpu.clone())),
        case("crates compiled", "crates", &|costs| median(costs.crates.clone())),
        case("the types crate alone", "s", &|costs| median(costs.types.clone())).goal(Goal::at_most(alone, PEER)),
        case("the codec adds", "s", &Costs::codec_adds).goal(Goal::at_most(0.2, PEER)),
    ];
    if profile == Profile::Dev {
        cases.push(case("rebuild after touching the dependent", "s", &|costs| median(costs.again.clone())));
    }
    cases
}

/// How many times a round repeats a build that takes less than a second.
const REPEATS: usize = 3;

fn measure(consumer: &Consumer, profile: Profile) -> anyhow::Result<Costs> {
    let project = Project { consumer, profile, target: tempfile::tempdir().context("creating a target directory")? };
    let cold = project.build(consumer.package)?;
    let crates = cold.units.iter().filter(|unit| unit.name != "build_script_build").count();
    let mut costs =
        Costs { wall: vec![cold.wall], cpu: vec![cold.cpu], crates: vec![crates as f64], ..Costs::default() };
    for _ in 0..REPEATS {
        project.clean(consumer.package)?;
        costs.plain.push(project.build(consumer.package)?.unit(consumer.package)?);
        costs.codec.push(project.build(&consumer.codec())?.unit(&consumer.codec())?);
        project.touch()?;
        costs.again.push(project.build(consumer.package)?.wall);
    }
    project.check()?;
    if let Some(types) = consumer.types {
        project.clean(types)?;
        costs.types.push(project.build(consumer.package)?.unit(types)?);
    }
    Ok(costs)
}

struct Project<'a> {
    consumer: &'a Consumer,
    profile: Profile,
    target: TempDir,
}

/// What one build took, in seconds.
struct Build {
    wall: f64,
    cpu: f64,
    units: Vec<Unit>,
}

impl Build {
    fn unit(&self, package: &str) -> anyhow::Result<f64> {
        let name = package.replace('-', "_");
        let unit = self.units.iter().find(|unit| unit.name == name);
        unit.map(|unit| unit.wall).with_context(|| format!("{package} was not compiled"))
    }
}

impl Project<'_> {
    fn build(&self, bin: &str) -> anyhow::Result<Build> {
        let log = self.target.path().join("units.jsonl");
        if log.exists() {
            fs::remove_file(&log).context("removing the unit log")?;
        }
        let mut cargo = cargo();
        cargo.args(["build", "--offline", "--locked", "--quiet", "--no-default-features"]);
        cargo.args(["--package", self.consumer.package, "--bin", bin, "--features", self.consumer.features]);
        cargo.args(["--profile", self.profile.as_str()]).arg("--target-dir").arg(self.target.path());
        // Cargo never compiles crates from a registry incrementally.
        cargo.args(["--config", "profile.dev.package.mcpgen-types.incremental=false"]);
        cargo
            .env("RUSTC_WRAPPER", env::current_exe().context("finding the path of this program")?)
            .env(rustc::LOG, &log);
        let (cpu_before, began) = (rustc::children_cpu()?, Instant::now());
        succeed(cargo.output())?;
        let wall = began.elapsed().as_secs_f64();
        let cpu = (rustc::children_cpu()? - cpu_before).as_secs_f64();
        Ok(Build { wall, cpu, units: rustc::units(&log)? })
    }

    /// Removes what the build of one package has written.
    fn clean(&self, package: &str) -> anyhow::Result<()> {
        let mut cargo = cargo();
        cargo.args(["clean", "--offline", "--locked", "--quiet", "--package", package]);
        cargo.args(["--profile", self.profile.as_str()]).arg("--target-dir").arg(self.target.path());
        succeed(cargo.output()).map(drop)
    }

    /// Makes the package's source newer than what its build has written.
    fn touch(&self) -> anyhow::Result<()> {
        let directory = self.consumer.package.trim_start_matches("consumer-");
        let path = manifest_dir().join("consumers").join(directory).join("src/main.rs");
        let file = File::options().append(true).open(path).context("opening the consumer's source")?;
        file.set_modified(SystemTime::now()).context("touching the consumer's source")
    }

    /// Checks that the codec prints the messages that it gets.
    ///
    /// # Errors
    ///
    /// Returns an error if a printed message differs from the original.
    fn check(&self) -> anyhow::Result<()> {
        let codec = self.target.path().join(self.profile.folder()).join(self.consumer.codec());
        let messages = self.consumer.messages();
        let output = succeed(Command::new(codec).args(messages.iter().map(Value::to_string)).output())?;
        let printed = String::from_utf8(output.stdout).context("decoding the output of the codec")?;
        ensure!(
            printed.lines().count() == messages.len(),
            "expected {} lines from the codec: {printed}",
            messages.len()
        );
        for (message, printed) in messages.iter().zip(printed.lines()) {
            let decoded: Value = serde_json::from_str(printed).context("decoding the output of the codec")?;
            ensure!(*message == decoded, "the codec printed another message: {printed}");
        }
        Ok(())
    }
}

/// Downloads all dependencies, so that the measured builds work offline.
fn fetch() -> anyhow::Result<()> {
    let mut cargo = Command::new(cargo_path());
    cargo.args(["fetch", "--locked", "--quiet"]).current_dir(manifest_dir());
    succeed(cargo.output()).map(drop)
}

/// The environment variables that cargo needs. Others, such as `RUSTFLAGS` or `CARGO_INCREMENTAL`, could change the
/// build.
const ENVIRONMENT: &[&str] = &["PATH", "HOME", "TMPDIR", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

fn cargo() -> Command {
    let mut command = Command::new(cargo_path());
    command.env_clear().current_dir(manifest_dir());
    command.envs(ENVIRONMENT.iter().filter_map(|&name| Some((name, env::var_os(name)?))));
    command
}

fn cargo_path() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn succeed(output: std::io::Result<Output>) -> anyhow::Result<Output> {
    let output = output.context("starting a process")?;
    if !output.status.success() {
        bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}
