//! Configurations, and what is wrong with them.

use std::fs;

use mcpgen_gateway::{Config, Gateway, Setting};
use mcpgen_sdk::util::error_chain;

#[test]
fn explains_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("desktop.json"), r#"{ "mcpServers": { "a": { "command": "x" } } }"#).expect("written");
    let path = folder.path().join("gateway.toml");
    for (text, expected) in [
        ("", "there is no server"),
        ("[servers.a]\ncomand = 'x'", r#"did you mean "command"?"#),
        ("[servers.a]\ncomand = 'x'", "line 2"),
        ("prefx = 'always'\n[servers.a]\ncommand = 'x'", r#"did you mean "prefix"?"#),
        ("[servers.a]", "servers.a: write `command` or `url`"),
        ("[servers.a]\ncommand = 'x'\nurl = 'y'", "not both"),
        ("[servers.a]\nurl = 'y'\nargs = ['x']", "need `command`"),
        ("[servers.a]\ncommand = 'x'\nheaders = { x = 'y' }", "need `url`"),
        ("[servers.a_b]\ncommand = 'x'", "letters, digits and single hyphens"),
        ("[servers.a]\ncommand = 'x'\nenv = { API_TOKEN = 'x' }", "`API_TOKEN` looks like a secret"),
        ("[servers.a]\nurl = 'x'\nheaders = { Authorization = 'x' }", "`Authorization` looks like a secret"),
        ("[servers.a]\nurl = 'x'\nheaders = { X = { env = 'T', befor = 'B' } }", "expected a text, { env ="),
        (
            "[servers.a]\nurl = 'x'\noauth = { client_secret = 's', client_id = 'i', issuer = 'j' }",
            "looks like a secret",
        ),
        ("[servers.a]\nurl = 'x'\noauth = { client_secret = { env = 's' } }", "needs `client_id`"),
        ("[http]\nlisten = '0.0.0.0:80'\n[servers.a]\ncommand = 'x'", "reachable from other hosts"),
        ("[tools.scopes]\n'*' = ['x']\n[servers.a]\ncommand = 'x'", "need [authorization]"),
        ("[prompts.annotations]\nread_only = true\n[servers.a]\ncommand = 'x'", "only `tools` can have `annotations`"),
        ("import = ['desktop.json']\n[servers.a]\ncommand = 'x'", "several servers have the name `a`"),
        ("import = ['missing.json']", "cannot open"),
        ("[pins]\nfile = 'none.json'\n[servers.a]\ncommand = 'x'", "`mcpgen-gateway pin` writes them"),
        (
            "[authorization]\nresource = 'https://a.example/mcp'\nissuer = 'https://b.example'\n[servers.a]\ncommand = 'x'",
            "[authorization] needs [http]",
        ),
        (
            "[http]\nlisten = '127.0.0.1:0'\nredis = 'redis://:p@h'\n[servers.a]\ncommand = 'x'",
            "http.redis: the URL contains a password",
        ),
    ] {
        fs::write(&path, text).expect("written");
        let gateway = Config::read(&path).and_then(|config| Gateway::new(config, folder.path()));
        let error = error_chain(&gateway.expect_err(text));
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn reads_files_of_desktop_clients() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("desktop.json");
    let text = r#"{ "other": 1, "mcpServers": {
        "My Files": { "command": "npx", "args": ["${MCPGEN_GATEWAY_NOTHING:-x}"], "env": { "API_TOKEN": "s" }, "autoApprove": [] },
        "off": { "command": "x", "disabled": true },
        "21st": { "url": "https://example.com/mcp" },
        "web": { "type": "http", "url": "https://example.com/mcp", "headers": { "X": "y" } }
    } }"#;
    fs::write(&path, text).expect("written");
    let config = Config::read(&path).expect("a configuration");
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["My-Files", "server21st", "web"]);
    assert_eq!(["server21st", "web"].map(|name| config.servers[name].oauth.is_some()), [true, false]);
    let files = &config.servers["My-Files"];
    assert_eq!(files.args, ["x"]);
    assert_eq!(files.env["API_TOKEN"], Setting::Plain("s".to_owned()));
    fs::write(&path, text.replace(":-x", "")).expect("written");
    let error = error_chain(&Config::read(&path).expect_err("no variable"));
    assert!(error.contains("no variable `MCPGEN_GATEWAY_NOTHING`"), "{error}");
}

/// Variables are expanded in every field that may contain one. A relative `cwd` is relative to the file's folder.
#[test]
fn expands_variables_of_desktop_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let desktop = folder.path().join("desktop");
    fs::create_dir(&desktop).expect("created");
    let text = r#"{ "mcpServers": {
        "a": { "command": "${MCPGEN_GATEWAY_NOTHING:-npx}", "args": ["-y", "${env:MCPGEN_GATEWAY_NOTHING:-x}/y"],
            "env": { "X": "1${MCPGEN_GATEWAY_NOTHING:-2}3" }, "cwd": "${MCPGEN_GATEWAY_NOTHING:-work}/a" },
        "b": { "command": "x", "cwd": "/srv" },
        "c": { "url": "https://${MCPGEN_GATEWAY_NOTHING:-example.com}/mcp", "headers": { "X": "${MCPGEN_GATEWAY_NOTHING:-y}" } }
    } }"#;
    fs::write(desktop.join("mcp.json"), text).expect("written");
    let path = folder.path().join("gateway.toml");
    fs::write(&path, "import = ['desktop/mcp.json']").expect("written");
    for path in [path, desktop.join("mcp.json")] {
        let config = Config::read(&path).expect("a configuration");
        let [a, b, c] = ["a", "b", "c"].map(|name| config.servers[name].clone());
        let plain = |text: &str| Setting::Plain(text.to_owned());
        assert_eq!((a.command.as_deref(), &*a.args), (Some("npx"), &["-y".to_owned(), "x/y".to_owned()][..]));
        assert_eq!((&a.env["X"], a.cwd), (&plain("123"), Some(desktop.join("work/a"))));
        assert_eq!(b.cwd, Some("/srv".into()));
        assert_eq!((c.url.as_deref(), &c.headers["X"]), (Some("https://example.com/mcp"), &plain("y")));
    }
}

#[test]
fn relative_paths_start_at_the_folder_of_the_configuration() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"
        [http]
        listen = "127.0.0.1:0"
        redis = { file = "redis" }
        [servers.a]
        command = "x"
        cwd = "work"
        env = { X = { file = "x" }, Y = { file = "/etc/y" } }
        [servers.b]
        url = "https://example.com/mcp"
        headers = { X = { file = "x" } }
        oauth = { client_id = "i", issuer = "j", client_secret = { file = "s" } }
    "#;
    let path = folder.path().join("gateway.toml");
    fs::write(&path, text).expect("written");
    let config = Config::read(&path).expect("a configuration");
    let file = |name: &str| Setting::File { file: folder.path().join(name), before: String::new() };
    let [a, b] = ["a", "b"].map(|name| config.servers[name].clone());
    assert_eq!((a.cwd, &a.env["X"], &a.env["Y"]), (Some(folder.path().join("work")), &file("x"), &file("/etc/y")));
    assert_eq!((&b.headers["X"], b.oauth.and_then(|it| it.client_secret)), (&file("x"), Some(file("s"))));
    assert_eq!(config.http.and_then(|http| http.redis), Some(file("redis")));
    // The paths of the log and the pins are relative to the folder that the gateway gets.
    fs::write(folder.path().join("pins.json"), "{}").expect("written");
    let text = "calls.log = 'calls.jsonl'\npins.file = 'pins.json'\n[servers.a]\ncommand = 'x'";
    fs::write(&path, text).expect("written");
    Gateway::new(Config::read(&path).expect("a configuration"), folder.path()).expect("a gateway");
    assert!(folder.path().join("calls.jsonl").exists());
}

#[test]
fn reads_secrets_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secret");
    fs::write(&file, "s3cret\n").expect("written");
    let setting = Setting::File { file, before: "Bearer ".to_owned() };
    assert_eq!(setting.value().expect("a value"), "Bearer s3cret");
    let missing = Setting::Env { env: "MCPGEN_GATEWAY_NOTHING".to_owned(), before: String::new() };
    assert!(missing.value().is_err());
}
