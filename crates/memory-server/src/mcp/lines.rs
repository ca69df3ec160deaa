//! Messages over a pair of pipes: one line each.

use memory_engine_intake::without_lone_surrogates;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex},
    sync::mpsc,
    task::JoinHandle,
};

use super::parse_error::{is_message, refusal};

/// Size of each buffer between the client and the protocol's library, in bytes.
const PIPE_BYTES: usize = 64 << 10;
/// Maximum number of refusals that wait to be written.
const MAX_REFUSALS: usize = 16;

/// Connects a client with the protocol's library. Returns the input and the output of the library, and the task that
/// writes to the client, which ends after the output.
///
/// Each escape of a lone surrogate is replaced. A line that is no message is answered here: the library ignores it, or
/// answers without an id.
pub(super) fn connect(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> (DuplexStream, DuplexStream, JoinHandle<()>) {
    let (to_library, messages) = duplex(PIPE_BYTES);
    let (from_library, answers) = duplex(PIPE_BYTES);
    let (refusals, refused) = mpsc::channel(MAX_REFUSALS);
    tokio::spawn(read_lines(input, to_library, refusals));
    (messages, from_library, tokio::spawn(write_lines(answers, refused, output)))
}

async fn read_lines(input: impl AsyncRead + Unpin, mut messages: DuplexStream, refusals: mpsc::Sender<String>) {
    let mut lines = BufReader::new(input).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        let line = without_lone_surrogates(&line);
        let is_passed_on = line.trim().is_empty() || is_message(&line);
        let is_open = if is_passed_on {
            messages.write_all(format!("{line}\n").as_bytes()).await.is_ok()
        } else {
            refusals.send(refusal(line.as_bytes()).to_string()).await.is_ok()
        };
        if !is_open {
            return; // The reader is closed.
        }
    }
}

/// Writes answers and refusals, one line after the other, until the answers end.
async fn write_lines(answers: DuplexStream, mut refused: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    let mut answers = BufReader::new(answers).split(b'\n');
    loop {
        let mut line = tokio::select! {
            line = answers.next_segment() => match line {
                Ok(Some(line)) => line,
                Ok(None) | Err(_) => break,
            },
            Some(refusal) = refused.recv() => refusal.into_bytes(),
        };
        line.push(b'\n');
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return; // The client has gone.
        }
    }
    // The refusals of the last lines may have come together with the end of the input.
    while let Ok(refusal) = refused.try_recv() {
        if output.write_all(format!("{refusal}\n").as_bytes()).await.is_err() {
            return;
        }
    }
    let _ = output.flush().await;
}
