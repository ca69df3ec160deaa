//! Categories of findings, and the action for each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use memory_engine_core::Error;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident, $noun:literal { $($(#[$item:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item])* $variant,)*
        }

        impl $name {
            /// All values, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name, as in settings.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $value,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text).ok_or_else(|| {
                    let known = Self::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>().join(", ");
                    let message = format!(concat!("there is no ", $noun, " \"{}\"; it is one of {}"), text, known);
                    Error::invalid("screening", message)
                })
            }
        }
    };
}

names! {
    /// A category of secrets or personal data.
    Category, "category" {
        /// Keys and tokens of services.
        Key = "key",
        /// Passwords, PINs and one-time codes.
        Password = "password",
        /// Private keys.
        PrivateKey = "private_key",
        /// Passwords in the addresses of databases and other services.
        ConnectionString = "connection_string",
        /// Numbers of payment cards.
        Card = "card",
        /// Numbers of bank accounts.
        BankAccount = "bank_account",
        /// Identity, social security and tax numbers of people.
        Identity = "identity",
        /// E-mail addresses.
        Email = "email",
        /// Telephone numbers.
        Phone = "phone",
    }
}

names! {
    /// The action for findings of a category.
    ScreeningAction, "action" {
        /// Stores the text as it is. The rules of the category do not run.
        Store = "store",
        /// Replaces the finding by `[redacted: RULE]`.
        Mask = "mask",
        /// Refuses the record.
        Refuse = "refuse",
    }
}

impl Category {
    /// Returns true for credentials: keys, passwords, private keys and connection strings. The other categories are
    /// personal data.
    pub const fn is_credential(self) -> bool {
        match self {
            Self::Key | Self::Password | Self::PrivateKey | Self::ConnectionString => true,
            Self::Card | Self::BankAccount | Self::Identity | Self::Email | Self::Phone => false,
        }
    }
}

/// The action for each category. Default: credentials are masked, and personal data is stored.
///
/// ```
/// use memory_engine_screening::{Category, ScreeningAction, ScreeningPolicy};
///
/// let policy = ScreeningPolicy::default().with(Category::Card, ScreeningAction::Refuse);
/// assert_eq!(policy.action(Category::Key), ScreeningAction::Mask);
/// assert_eq!(policy.action(Category::Card), ScreeningAction::Refuse);
/// assert_eq!(policy.action(Category::Phone), ScreeningAction::Store);
/// ```
/// In settings, the policy is a table of categories and their actions, or a text as [`FromStr`] parses it. Categories
/// that are not listed have their default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ScreeningPolicy(BTreeMap<Category, ScreeningAction>);

impl<'de> Deserialize<'de> for ScreeningPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PolicyVisitor)
    }
}

/// Reads a policy from a table or a text.
struct PolicyVisitor;

impl<'de> Visitor<'de> for PolicyVisitor {
    type Value = ScreeningPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a table of categories and actions, such as card = \"mask\", or a text, such as \"card=mask\" or \"off\"",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ScreeningPolicy, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<ScreeningPolicy, A::Error> {
        let mut policy = ScreeningPolicy::default();
        while let Some((category, action)) = table.next_entry()? {
            policy = policy.with(category, action);
        }
        Ok(policy)
    }
}

impl Default for ScreeningPolicy {
    fn default() -> Self {
        let default =
            |category: Category| if category.is_credential() { ScreeningAction::Mask } else { ScreeningAction::Store };
        Self(Category::ALL.iter().map(|category| (*category, default(*category))).collect())
    }
}

/// Parses a policy: `off`, or `CATEGORY=ACTION` with commas in between, such as `card=mask,phone=refuse`.
impl FromStr for ScreeningPolicy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim() == "off" {
            return Ok(Self::uniform(ScreeningAction::Store));
        }
        let mut policy = Self::default();
        let mut named = BTreeSet::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((category, action)) = part.split_once('=') else {
                let message = match part {
                    "off" => "\"off\" cannot be combined with categories; it switches all of them off".to_owned(),
                    part => format!("\"{part}\" is not CATEGORY=ACTION; write for example card=mask, or off"),
                };
                return Err(Error::invalid("screening", message));
            };
            let category = category.trim().parse()?;
            if !named.insert(category) {
                return Err(Error::invalid("screening", format!("{category} is named twice; name it once")));
            }
            policy = policy.with(category, action.trim().parse()?);
        }
        Ok(policy)
    }
}

impl ScreeningPolicy {
    /// Returns a policy with the same action for every category. With [`ScreeningAction::Store`], nothing is screened.
    pub fn uniform(action: ScreeningAction) -> Self {
        Self(Category::ALL.iter().map(|category| (*category, action)).collect())
    }

    /// Sets the action of a category.
    #[must_use]
    pub fn with(mut self, category: Category, action: ScreeningAction) -> Self {
        self.0.insert(category, action);
        self
    }

    /// Returns the action of a category.
    pub fn action(&self, category: Category) -> ScreeningAction {
        self.0.get(&category).copied().unwrap_or(ScreeningAction::Store)
    }

    /// Returns true if every category is stored as it is.
    pub fn is_off(&self) -> bool {
        Category::ALL.iter().all(|category| self.action(*category) == ScreeningAction::Store)
    }

    /// Returns the categories whose findings are masked or refused.
    pub fn screened_categories(&self) -> Vec<Category> {
        Category::ALL.iter().copied().filter(|category| self.action(*category) != ScreeningAction::Store).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_parsed() -> Result<(), Error> {
        let policy: ScreeningPolicy = "card=mask, phone=refuse,key=store".parse()?;
        let actions = [Category::Card, Category::Phone, Category::Key, Category::Password].map(|c| policy.action(c));
        assert_eq!(
            actions,
            [ScreeningAction::Mask, ScreeningAction::Refuse, ScreeningAction::Store, ScreeningAction::Mask]
        );
        assert!("off".parse::<ScreeningPolicy>()?.is_off());
        assert_eq!("".parse::<ScreeningPolicy>()?, ScreeningPolicy::default());
        Ok(())
    }

    #[test]
    fn policies_are_read_from_settings() -> Result<(), serde_json::Error> {
        let table: ScreeningPolicy = serde_json::from_str(r#"{"card": "refuse"}"#)?;
        assert_eq!(table, ScreeningPolicy::default().with(Category::Card, ScreeningAction::Refuse));
        assert_eq!(serde_json::from_str::<ScreeningPolicy>(r#""card=refuse""#)?, table);
        assert_eq!(serde_json::from_str::<ScreeningPolicy>(&serde_json::to_string(&table)?)?, table);
        let error = serde_json::from_str::<ScreeningPolicy>(r#"{"cards": "refuse"}"#)
            .map_or_else(|e| e.to_string(), |_| String::new());
        assert!(error.contains("unknown variant `cards`, expected one of `key`"), "{error}");
        Ok(())
    }

    #[test]
    fn errors_of_policies_say_what_is_right() {
        let message = |text: &str| text.parse::<ScreeningPolicy>().map_or_else(|e| e.to_string(), |_| String::new());
        assert!(message("cards=mask").contains("there is no category \"cards\"; it is one of key, password"));
        assert!(message("card=hide").contains("there is no action \"hide\"; it is one of store, mask, refuse"));
        assert!(message("card").contains("is not CATEGORY=ACTION"));
    }
}
