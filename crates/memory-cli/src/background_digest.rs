//! Extracts facts in a process of its own, after a hook without a server.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use memory_engine::Database;

use crate::database::DatabaseArg;

/// Time limit of the process. Jobs that are left wait for the next one.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(120);
/// The variable that selects the method of extraction, as for other commands.
const METHOD_VARIABLE: &str = "MEMORY_DIGEST";

/// Starts a process that does the waiting jobs of a user, unless one runs. A failure only leaves the jobs to the next
/// one.
pub(crate) fn start(database: &DatabaseArg, tenant: &str, user: &str) {
    let (Ok(program), Ok(location)) = (std::env::current_exe(), database.database()) else { return };
    let Some(name) = name_of(database, &location) else { return };
    // The process takes the lock itself: this is only to start none in vain.
    if lock(&location).is_none() {
        return;
    }
    let mut command = Command::new(program);
    command.args(["digest", "--waiting", "--background", "--tenant", tenant, "--user", user]);
    // An address may contain a password, which no argument may.
    command.env("MEMORY_DB", name);
    if !std::env::var(METHOD_VARIABLE).is_ok_and(|method| method != "none") {
        command.env(METHOD_VARIABLE, "rules");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A signal to the group of the agent, such as Ctrl-C, must not end it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, DETACHED_PROCESS);
    let _ = command.spawn();
}

/// Returns the value of `--db` for a database. That of an address, which may contain a password, is only known if a
/// variable has it.
fn name_of(database: &DatabaseArg, location: &Database) -> Option<OsString> {
    match (database, location.path()) {
        (DatabaseArg::InVariable, _) => Some("postgres".into()),
        // A name with a colon is a file if it begins like a path.
        (DatabaseArg::At(_), Some(path)) => std::path::absolute(path).ok().map(OsString::from),
        (DatabaseArg::At(_), None) => std::env::var_os("MEMORY_DB"),
    }
}

/// The flag of a process without a console.
#[cfg(windows)]
const DETACHED_PROCESS: u32 = 0x0000_0008;

/// Returns the lock of a database, which is held until it is dropped; `None` if another process holds it.
pub(crate) fn lock(database: &Database) -> Option<File> {
    let file = File::options().create(true).append(true).open(lock_file(database)).ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

fn lock_file(database: &Database) -> PathBuf {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    let user: String = user.chars().filter(|c| c.is_alphanumeric()).collect();
    std::env::temp_dir().join(format!("memory-digest-{user}-{}.lock", database.location_hash()))
}
