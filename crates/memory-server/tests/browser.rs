//! Tests of the inspector in a browser: each script in `tests/browser` is a test, except for the modules in
//! `tests/browser/support`. It gets its own memory (`tests/support/inspector_data.rs`) and servers on it:
//!
//! | variable | meaning |
//! |---|---|
//! | `MEMORY_URL` | URL of the server without keys, `http://127.0.0.1:PORT` without a slash |
//! | `MEMORY_KEYED_URL` | URL of a server with keys, on the same memory |
//! | `MEMORY_WITHOUT_UI_URL` | URL of a server whose configuration switches the inspector off |
//! | `MEMORY_KEY` | a key for all users |
//! | `MEMORY_KEY_ANNA`, `MEMORY_KEY_LIN` | a key for one user each |
//! | `MEMORY_NOW` | the time of the memory's clock at the start of the test |
//! | `BROWSER_OUTPUT` | a folder for screenshots. Default: one in `target/tmp` |
//!
//! A script passes if it exits with 0; otherwise its output is shown. `scripts/browser` provides `BROWSER_PYTHON`, a
//! Python interpreter with Playwright, and `CHROMIUM`. Without them these tests are listed as ignored; with
//! `BROWSER_REQUIRE=1` they then fail.
//!
//! `browser run SCRIPT` runs another script in the same way. `browser serve` starts the servers, prints the variables, and
//! runs until its standard input is closed; `browser serve injection` has the memory of the script `injection`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "support/companion_data.rs"]
mod companion_data;
#[path = "support/hostile_data.rs"]
mod hostile_data;
#[path = "support/inspector.rs"]
mod inspector;
#[path = "support/inspector_data.rs"]
mod inspector_data;
mod support;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use inspector::InspectedMemory;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// The script whose memory contains hostile texts as well.
const HOSTILE_SCRIPT: &str = "injection";

fn main() {
    let named = env::args().nth(2).unwrap_or_default();
    match env::args().nth(1).as_deref() {
        Some("serve") => return serve(&named),
        Some("run") => return run(env::var("BROWSER_PYTHON").ok().as_deref(), Path::new(&named)).unwrap(),
        _ => {}
    }
    let arguments = Arguments::from_args();
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let python = variable("BROWSER_PYTHON").filter(|_| variable("CHROMIUM").is_some());
    let is_required = variable("BROWSER_REQUIRE").is_some_and(|value| value == "1");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut scripts: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    scripts.sort();
    assert!(!scripts.is_empty(), "there are no scripts in tests/browser");
    let trials = scripts.into_iter().map(|script| {
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        let is_ignored = python.is_none() && !is_required;
        let python = python.clone();
        Trial::test(name, move || run(python.as_deref(), &script)).with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn run(python: Option<&str>, script: &Path) -> Result<(), Failed> {
    let python = python.ok_or(
        "the browser tests are required (BROWSER_REQUIRE), but BROWSER_PYTHON or CHROMIUM is not set; run them with \
         scripts/browser",
    )?;
    let name = script.file_stem().unwrap().to_string_lossy().into_owned();
    let runtime = Runtime::new()?;
    let memory = runtime.block_on(memory_for(&name));
    let default_folder = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser").join(&name);
    let output_folder = env::var_os("BROWSER_OUTPUT").map_or_else(default_folder, PathBuf::from);
    fs::create_dir_all(&output_folder)?;
    let mut command = Command::new(python);
    command.arg("-u").arg(script).env("PYTHONDONTWRITEBYTECODE", "1").envs(variables(&memory));
    command.env("BROWSER_OUTPUT", &output_folder);
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(variable);
    }
    let output = command.output().map_err(|e| format!("{python} cannot be run: {e}"))?;
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        // The figures of the tests that measure.
        print!("{}", shown(&output.stdout));
        return Ok(());
    }
    Err(format!("{}\n{}\n{}", output.status, shown(&output.stdout), shown(&output.stderr)).into())
}

fn variables(memory: &InspectedMemory) -> [(&'static str, String); 7] {
    [
        ("MEMORY_URL", memory.open_url.clone()),
        ("MEMORY_KEYED_URL", memory.keyed_url.clone()),
        ("MEMORY_WITHOUT_UI_URL", memory.without_ui_url.clone()),
        ("MEMORY_KEY", memory.key.reveal().to_owned()),
        ("MEMORY_KEY_ANNA", memory.anna_key.reveal().to_owned()),
        ("MEMORY_KEY_LIN", memory.lin_key.reveal().to_owned()),
        ("MEMORY_NOW", memory.engine.settings().clock().now().to_string()),
    ]
}

/// Returns the servers for a script.
async fn memory_for(script: &str) -> InspectedMemory {
    let memory = InspectedMemory::start().await;
    if script == HOSTILE_SCRIPT {
        hostile_data::store(&memory.engine).await;
    }
    memory
}

/// Serves the memory of a script until the standard input is closed.
fn serve(script: &str) {
    let runtime = Runtime::new().unwrap();
    let memory = runtime.block_on(memory_for(script));
    for (name, value) in variables(&memory) {
        println!("{name}={value}");
    }
    let mut line = String::new();
    while io::stdin().read_line(&mut line).is_ok_and(|length| length > 0) {}
}
