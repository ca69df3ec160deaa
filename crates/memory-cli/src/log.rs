//! The log of a server, and with the feature `otel` its traces.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use memory_engine_server::{LogConfig, LogFormat};
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, layer::SubscriberExt, registry::LookupSpan, util::SubscriberInitExt,
};

/// The beginnings of the targets that log no text at any level: those of this workspace, and the layer that logs the
/// status and the duration of each request.
const TARGETS_WITHOUT_TEXTS: [&str; 3] = ["memory::", "memory_engine", "tower_http::"];
/// The beginnings of the targets that log texts of clients at `info` and `warn`: rmcp logs the addresses of resources,
/// the names of methods, and what a client states about itself.
const TARGETS_WITH_TEXTS: [&str; 1] = ["rmcp"];

/// The log of the command. Dropping it flushes the traces.
#[derive(Debug)]
pub(crate) struct Log {
    #[cfg(feature = "otel")]
    traces: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl Log {
    /// Starts logging to standard error. Sends traces to the collector (OTLP over gRPC) in the variable
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, if it is set. They contain what the log contains: no queries and no stored
    /// text.
    ///
    /// # Errors
    /// If the filter or the address of the collector is invalid.
    pub(crate) fn write(config: &LogConfig) -> Result<Self> {
        let filter = EnvFilter::try_new(&config.filter).context("log.filter, as in `info,memory_engine=debug`")?;
        let include_texts = config.include_texts;
        let without_texts = filter_fn(move |metadata| include_texts || never_has_texts(metadata));
        let all = tracing_subscriber::registry().with(filter).with(without_texts).with(lines(config.format));
        #[cfg(feature = "otel")]
        {
            let traces = traces::to_collector()?;
            let layer = traces.as_ref().map(traces::layer);
            // If a subscriber is set already, it gets the same events.
            let _ = all.with(layer).try_init();
            Ok(Self { traces })
        }
        #[cfg(not(feature = "otel"))]
        {
            let _ = all.try_init();
            Ok(Self {})
        }
    }
}

/// Returns true for `info` and above (`error` for targets that log texts there), and for targets that log no text below
/// that. rmcp logs each message at `debug`, and a later version of any library may do the same.
fn never_has_texts(metadata: &Metadata<'_>) -> bool {
    let is_listed = |targets: &[&str]| targets.iter().any(|target| metadata.target().starts_with(target));
    let lowest = if is_listed(&TARGETS_WITH_TEXTS) { Level::ERROR } else { Level::INFO };
    *metadata.level() <= lowest || is_listed(&TARGETS_WITHOUT_TEXTS)
}

fn lines<S: Subscriber + for<'s> LookupSpan<'s>>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync> {
    // A line that cannot be written is dropped. The message about it would go to the same place, and panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    // An empty NO_COLOR counts as not set.
    let has_colors =
        std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stderr().is_terminal();
    let lines = lines.with_ansi(has_colors);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    }
}

#[cfg(feature = "otel")]
impl Drop for Log {
    fn drop(&mut self) {
        if let Some(Err(e)) = self.traces.take().map(|traces| traces.shutdown()) {
            report_line!("the last traces were not sent: {e}");
        }
    }
}

#[cfg(feature = "otel")]
mod traces {
    use anyhow::{Context, Result};
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::{
        Resource,
        trace::{SdkTracerProvider, Tracer},
    };
    use tracing::Subscriber;
    use tracing_opentelemetry::OpenTelemetryLayer;
    use tracing_subscriber::registry::LookupSpan;

    const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const NAME: &str = "memory-engine";

    /// Returns the exporter of traces if a collector is set. Connects later.
    pub(super) fn to_collector() -> Result<Option<SdkTracerProvider>> {
        if std::env::var_os(COLLECTOR).is_none_or(|address| address.is_empty()) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_tonic().build().context(COLLECTOR)?;
        let resource = Resource::builder().with_service_name(NAME).build();
        Ok(Some(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
    }

    pub(super) fn layer<S>(traces: &SdkTracerProvider) -> OpenTelemetryLayer<S, Tracer>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        tracing_opentelemetry::layer().with_tracer(traces.tracer(NAME))
    }
}

#[cfg(test)]
mod tests {
    use tracing::{event_enabled, subscriber::with_default};

    use super::*;

    #[test]
    fn lines_of_libraries_have_no_texts() {
        with_default(tracing_subscriber::registry().with(filter_fn(never_has_texts)), || {
            assert!(!event_enabled!(target: "rmcp::service", Level::WARN));
            assert!(event_enabled!(target: "rmcp::service", Level::ERROR));
            assert!(event_enabled!(target: "hyper", Level::INFO));
            assert!(!event_enabled!(target: "hyper", Level::DEBUG));
            assert!(event_enabled!(target: "memory_engine_server::mcp", Level::DEBUG));
        });
    }
}
