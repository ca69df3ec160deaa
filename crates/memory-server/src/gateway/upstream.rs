//! The upstream services, and the routing of models to them.

use std::sync::Arc;

use memory_engine::{
    Error, Result,
    http_models::{Endpoint, Relay, RelayOptions},
};

/// A service that has models, with an OpenAI-compatible API.
///
/// With a key in its [`Endpoint`] that is what the service gets; without one the client's own `Authorization` is
/// passed on.
#[derive(Debug, Clone)]
#[must_use]
pub struct Upstream {
    name: String,
    endpoint: Endpoint,
    models: Vec<String>,
    options: RelayOptions,
}

/// The services of a gateway.
#[derive(Debug)]
pub(super) struct Upstreams(Vec<Arc<Service>>);

/// One of them, ready to be asked.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) relay: Relay,
    models: Vec<String>,
}

/// An upstream with the name that it uses for a model.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) service: Arc<Service>,
    pub(super) model: Option<String>,
}

impl Upstream {
    /// A service by the name `name`, at an address such as `https://api.deepseek.com/v1`. It takes every model that no
    /// other service names.
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self { name: name.into(), endpoint, models: Vec::new(), options: RelayOptions::default() }
    }

    /// It takes these models and no others: names, or beginnings of names with `*` behind them.
    pub fn with_models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// With other limits than the usual ones.
    pub fn with_options(mut self, options: RelayOptions) -> Self {
        self.options = options;
        self
    }
}

impl Service {
    /// Returns true if it takes models that no other upstream claims.
    pub(super) fn is_open(&self) -> bool {
        self.models.is_empty()
    }
}

impl Upstreams {
    /// Makes the services ready.
    ///
    /// # Errors
    /// `InvalidInput` when there are none, for a name that is empty, holds a slash or stands twice, and for a model's
    /// name that is empty; those of [`Relay::new`].
    pub(super) fn open(upstreams: Vec<Upstream>) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("gateway", message));
        if upstreams.is_empty() {
            return invalid("a gateway needs at least one upstream; name one with its base URL".into());
        }
        let mut services: Vec<Arc<Service>> = Vec::new();
        for Upstream { name, endpoint, models, options } in upstreams {
            if name.trim().is_empty() || name.contains('/') {
                return invalid(format!("the upstream's name '{name}' is empty or holds a slash"));
            }
            if services.iter().any(|service| service.name == name) {
                return invalid(format!("there are two upstreams by the name '{name}'"));
            }
            if models.iter().any(|model| model.trim().is_empty()) {
                return invalid(format!("the upstream '{name}' names an empty model; '*' takes all"));
            }
            services.push(Arc::new(Service { name, relay: Relay::new(endpoint, options)?, models }));
        }
        Ok(Self(services))
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Arc<Service>] {
        &self.0
    }

    /// Returns the upstream for a model: the one that lists it, the one whose name is before a slash in it (which is
    /// removed), the one with the longest matching prefix, or else the first one without a list. `None` if there is
    /// none.
    ///
    /// A request that names no model goes to the one that names none, or to the first: it will say what it thinks of
    /// it.
    pub(super) fn route(&self, model: Option<&str>) -> Option<Route> {
        let to = |service: &Arc<Service>, model: Option<&str>| {
            Some(Route { service: Arc::clone(service), model: model.map(str::to_owned) })
        };
        let open = self.0.iter().find(|service| service.models.is_empty());
        let Some(name) = model else {
            return open.or_else(|| self.0.first()).and_then(|service| to(service, None));
        };
        if let Some(service) = self.0.iter().find(|service| service.models.iter().any(|known| known == name)) {
            return to(service, Some(name));
        }
        if let Some((prefix, rest)) = name.split_once('/').filter(|(_, rest)| !rest.is_empty())
            && let Some(service) = self.0.iter().find(|service| service.name == prefix)
        {
            return to(service, Some(rest));
        }
        let begins = |service: &&Arc<Service>| service.begins(name);
        let best = self.0.iter().rev().filter(|service| begins(service).is_some()).max_by_key(begins);
        best.or(open).and_then(|service| to(service, Some(name)))
    }

    /// Returns the name of an upstream's model for clients: its own name if that is routed there, otherwise with the
    /// prefix of the upstream.
    pub(super) fn name_of(&self, service: &Service, model: &str) -> String {
        match self.route(Some(model)) {
            Some(route) if route.service.name == service.name && route.model.as_deref() == Some(model) => {
                model.to_owned()
            }
            _ => format!("{}/{model}", service.name),
        }
    }
}

impl Service {
    /// Returns the length of the longest listed prefix of this model.
    fn begins(&self, model: &str) -> Option<usize> {
        let beginnings = self.models.iter().filter_map(|known| known.strip_suffix('*'));
        beginnings.filter(|beginning| model.starts_with(beginning)).map(str::len).max()
    }
}

#[cfg(test)]
mod tests;
