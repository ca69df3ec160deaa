//! The command `memory serve` on a port of its own.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use crate::cli_fixture::command_in;

/// Returns the command in this folder, without the variables of this machine that it reads.
pub(crate) fn memory(folder: &Path) -> Command {
    let mut command = command_in(folder);
    command.env("MEMORY_EMBEDDER", "hash");
    command
}

/// A server on its own port, which is killed at the end of the test.
pub(crate) struct RunningServer {
    child: Child,
    pub(crate) address: String,
    /// Reads the log until the server ends: the server waits if the pipe of its log is full.
    log: Option<JoinHandle<String>>,
}

impl RunningServer {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_as(command, &["serve"])
    }

    /// Starts the server by a command of another name, on a port of its own.
    pub(crate) fn start_as(command: &mut Command, arguments: &[&str]) -> Self {
        let mut child =
            command.args(arguments).args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut served = Self { child, address: String::new(), log: None };
        let mut message = String::new();
        while served.address.is_empty() {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the server stopped without listening: {message}");
            let address = line.split_once("http://").and_then(|(_, rest)| rest.split([',', ' ', '"']).next());
            served.address = address.unwrap_or_default().trim().to_owned();
            message.push_str(&line);
        }
        served.log = Some(thread::spawn(move || {
            let mut rest = String::new();
            log.read_to_string(&mut rest).unwrap();
            rest
        }));
        served
    }

    /// Sends a request, and returns the status and the body of the response.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        request.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    #[cfg(unix)]
    pub(crate) fn terminate(mut self) -> (bool, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let log = self.log.take().unwrap().join().unwrap();
        (self.child.wait().unwrap().success(), log)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have stopped already
        let _ = self.child.wait();
    }
}
