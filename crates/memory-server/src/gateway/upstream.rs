//! The upstream services, and the routing of models to them.

use std::sync::Arc;

use super::dialect::Dialect;
use memory_engine::{
    Error, Result,
    http_models::{Endpoint, Relay, RelayOptions},
};

/// A model service with an OpenAI-compatible API.
///
/// It speaks chat completions, unless [`with_dialects`](Self::with_dialects) says otherwise. If its [`Endpoint`] has a
/// key, requests are sent with that key. Otherwise the client's own key is passed on.
#[derive(Debug, Clone)]
#[must_use]
pub struct Upstream {
    name: String,
    endpoint: Endpoint,
    messages_endpoint: Option<Endpoint>,
    models: Vec<String>,
    dialects: Vec<Dialect>,
    options: RelayOptions,
}

/// The services of a gateway.
#[derive(Debug)]
pub(super) struct Upstreams(Vec<Arc<Service>>);

/// An upstream that is ready for requests.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) relay: Relay,
    /// For the messages dialect, if its key is sent in another way.
    messages_relay: Option<Relay>,
    dialects: Vec<Dialect>,
    models: Vec<String>,
}

/// An upstream with the name that it uses for a model.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) service: Arc<Service>,
    pub(super) model: Option<String>,
}

impl Upstream {
    /// Creates an upstream called `name`, at an address such as `https://api.deepseek.com/v1`. Without
    /// [`with_models`](Self::with_models) it serves every model that no other upstream serves.
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            messages_endpoint: None,
            models: Vec::new(),
            dialects: vec![Dialect::Chat],
            options: RelayOptions::default(),
        }
    }

    /// Restricts the upstream to these models: names, or prefixes of names followed by `*`.
    pub fn with_models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the dialects that it speaks. Default: [`Dialect::Chat`].
    pub fn with_dialects(mut self, dialects: impl IntoIterator<Item = Dialect>) -> Self {
        self.dialects = dialects.into_iter().collect();
        self
    }

    /// Sends requests in [`Dialect::Messages`] to this endpoint, whose key is in the header `x-api-key`. Default: the
    /// endpoint of all requests.
    pub fn with_messages_endpoint(mut self, endpoint: Endpoint) -> Self {
        self.messages_endpoint = Some(endpoint);
        self
    }

    /// Sets the options of requests to it. Default: [`RelayOptions::default`].
    pub fn with_options(mut self, options: RelayOptions) -> Self {
        self.options = options;
        self
    }
}

impl Route {
    fn new(service: &Arc<Service>, model: Option<&str>) -> Self {
        Self { service: Arc::clone(service), model: model.map(str::to_owned) }
    }
}

impl Service {
    /// Returns true if it speaks this dialect.
    pub(super) fn speaks(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect)
    }

    /// Returns the relay for requests in a dialect.
    pub(super) fn relay(&self, dialect: Dialect) -> &Relay {
        self.messages_relay.as_ref().filter(|_| dialect == Dialect::Messages).unwrap_or(&self.relay)
    }

    /// Returns true if it has a key of its own.
    pub(super) fn has_key(&self, dialect: Dialect) -> bool {
        self.relay.has_key() || (dialect == Dialect::Messages && self.messages_relay.is_some())
    }

    /// Returns true if it serves every model that no other upstream serves.
    pub(super) fn is_catch_all(&self) -> bool {
        self.models.is_empty()
    }

    /// Returns the length of the longest listed prefix that matches this model.
    fn longest_prefix(&self, model: &str) -> Option<usize> {
        let prefixes = self.models.iter().filter_map(|pattern| pattern.strip_suffix('*'));
        prefixes.filter(|prefix| model.starts_with(prefix)).map(str::len).max()
    }
}

impl Upstreams {
    /// Prepares the upstreams for requests.
    ///
    /// # Errors
    /// `InvalidInput` without an upstream, for a name that is empty, contains a slash or occurs twice, and for an empty
    /// model name; the errors of [`Relay::new`].
    pub(super) fn new(upstreams: Vec<Upstream>) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("gateway", message));
        if upstreams.is_empty() {
            return invalid("a gateway needs at least one upstream, with a name and a base URL".into());
        }
        let mut services: Vec<Arc<Service>> = Vec::new();
        for Upstream { name, endpoint, messages_endpoint, models, dialects, options } in upstreams {
            if name.trim().is_empty() || name.contains('/') {
                return invalid(format!("the upstream name '{name}' is empty or contains a slash"));
            }
            if services.iter().any(|service| service.name == name) {
                return invalid(format!("two upstreams have the name '{name}'; names must be unique"));
            }
            if models.iter().any(|model| model.trim().is_empty()) {
                return invalid(format!("the upstream '{name}' lists an empty model name; '*' stands for all models"));
            }
            if dialects.is_empty() {
                return invalid(format!("the upstream '{name}' speaks no dialect; name chat, messages or responses"));
            }
            let messages_relay = messages_endpoint.map(|endpoint| Relay::new(endpoint, options.clone())).transpose()?;
            let relay = Relay::new(endpoint, options)?;
            services.push(Arc::new(Service { name, relay, messages_relay, dialects, models }));
        }
        Ok(Self(services))
    }

    /// Returns all upstreams, in their configured order.
    pub(super) fn all(&self) -> &[Arc<Service>] {
        &self.0
    }

    /// Returns the upstream for a model: the one that lists it, the one whose name is before a slash in it (which is
    /// removed), the one with the longest matching prefix, or else the first one without a list. `None` if there is
    /// none.
    ///
    /// A request without a model goes to the first upstream without a list, or else to the first one, which then
    /// reports the missing model.
    pub(super) fn route(&self, model: Option<&str>) -> Option<Route> {
        let catch_all = self.0.iter().find(|service| service.is_catch_all());
        let Some(name) = model else {
            return catch_all.or_else(|| self.0.first()).map(|service| Route::new(service, None));
        };
        if let Some(service) = self.0.iter().find(|service| service.models.iter().any(|known| known == name)) {
            return Some(Route::new(service, Some(name)));
        }
        if let Some((prefix, rest)) = name.split_once('/').filter(|(_, rest)| !rest.is_empty())
            && let Some(service) = self.0.iter().find(|service| service.name == prefix)
        {
            return Some(Route::new(service, Some(rest)));
        }
        // In reverse, so that of equal prefixes the first one wins.
        let best = self
            .0
            .iter()
            .rev()
            .filter(|service| service.longest_prefix(name).is_some())
            .max_by_key(|service| service.longest_prefix(name));
        best.or(catch_all).map(|service| Route::new(service, Some(name)))
    }

    /// Returns the name of an upstream's model for clients: its own name if that is routed there, otherwise with the
    /// prefix of the upstream.
    pub(super) fn client_model_name(&self, service: &Service, model: &str) -> String {
        match self.route(Some(model)) {
            Some(route) if route.service.name == service.name && route.model.as_deref() == Some(model) => {
                model.to_owned()
            }
            _ => format!("{}/{model}", service.name),
        }
    }
}

#[cfg(test)]
mod tests;
