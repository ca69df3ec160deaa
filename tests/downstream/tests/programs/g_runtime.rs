//! Runtimes and shutdown.

use std::time::Duration;

use memory_engine::{blocking, prelude::*};
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn kim() -> Scope {
    Scope::user("kim").expect("a scope")
}

/// Waits until no job is queued.
async fn settled(memory: &MemoryEngine, timeout: Duration) -> Result<bool> {
    let started = std::time::Instant::now();
    while started.elapsed() < timeout {
        if memory.stats(&kim()).await?.queued.values().sum::<u64>() == 0 {
            return Ok(true);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(false)
}

#[test]
fn a_blocking_program_uses_a_runtime_of_its_own() -> Result<()> {
    let runtime = runtime();
    let memory = runtime.block_on(MemoryEngine::builder().in_memory().build())?;
    runtime.block_on(memory.remember(&kim(), "hello"))?;
    assert_eq!(runtime.block_on(memory.stats(&kim()))?.records, 1);
    drop(runtime);
    drop(memory);
    Ok(())
}

#[test]
fn the_blocking_facade_needs_no_runtime() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = blocking::MemoryEngine::open(path.as_path())?;
    memory.remember(&kim(), Turn::user("My interview is on Friday"))?;
    let found = memory.recall(&kim(), "When is my interview?")?;
    assert!(found.best().is_some());
    memory.close()?;
    assert!(memory.is_closed());
    Ok(())
}

#[tokio::test]
async fn the_blocking_facade_refuses_to_block_an_async_thread() {
    let error = blocking::MemoryEngine::builder().in_memory().build_blocking().expect_err("an async thread");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn outside_of_a_runtime_calls_are_errors_and_no_panics() -> Result<()> {
    let error = futures::executor::block_on(MemoryEngine::builder().in_memory().build()).expect_err("no runtime");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let memory = runtime().block_on(MemoryEngine::builder().in_memory().build())?;
    let error = futures::executor::block_on(memory.remember(&kim(), "hello")).expect_err("no runtime");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Ok(())
}

#[test]
fn a_runtime_without_timers_is_refused_when_the_engine_is_built() {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let error = runtime.block_on(MemoryEngine::builder().in_memory().build()).expect_err("no timers");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_current_thread_runtime_does_the_background_work_too() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let memory = MemoryEngine::builder().in_memory().build().await?;
        memory.remember_all(&kim(), (0..200).map(|n| Turn::user(format!("line {n}")))).await?;
        assert!(settled(&memory, Duration::from_secs(20)).await?);
        memory.close().await
    })
}

#[test]
fn an_engine_of_one_runtime_goes_on_in_the_next() -> Result<()> {
    let first = runtime();
    let memory = first.block_on(MemoryEngine::builder().in_memory().build())?;
    drop(first);
    runtime().block_on(async {
        memory.remember(&kim(), "hello").await?;
        assert!(settled(&memory, Duration::from_secs(20)).await?, "the background works on the second runtime");
        memory.close().await
    })
}

#[test]
fn work_of_a_runtime_that_ended_is_free_at_once() -> Result<()> {
    let (_folder, path) = crate::database();
    let first = runtime();
    first.block_on(async {
        let memory = MemoryEngine::open(path.as_path()).await?;
        memory.remember_all(&kim(), (0..3000).map(|n| Turn::user(format!("line {n}")))).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Error>(())
    })?;
    first.shutdown_background();

    runtime().block_on(async {
        let memory = MemoryEngine::builder().sqlite(&path).background(false).build().await?;
        let started = std::time::Instant::now();
        memory.drain(&kim(), |_| ()).await?;
        let took = started.elapsed();
        assert_eq!(memory.stats(&kim()).await?.queued.values().sum::<u64>(), 0);
        // A lease lasts 30 s.
        assert!(took < Duration::from_secs(25), "drained after {took:?}");
        memory.close().await
    })
}

#[tokio::test]
async fn after_close_every_call_is_an_error_and_closing_again_is_none() -> Result<()> {
    let (_folder, path) = crate::database();
    let memory = MemoryEngine::open(path.as_path()).await?;
    let id = memory.remember(&kim(), "hello").await?;
    let other = memory.clone();
    memory.close().await?;
    other.close().await?;
    assert!(other.admin().is_closed());
    let closed = |error: Error| assert_eq!(error.kind(), ErrorKind::Closed);
    closed(other.remember(&kim(), "more").await.expect_err("closed"));
    closed(other.recall(&kim(), "hello").await.expect_err("closed"));
    closed(other.get(&kim(), id).await.expect_err("closed"));
    closed(other.forget(&kim(), id).await.expect_err("closed"));

    // Nothing is left next to the file but what belongs to it, and it opens again.
    let again = MemoryEngine::open(path.as_path()).await?;
    assert!(again.get(&kim(), id).await?.is_some());
    again.close().await
}
