//! The names of an enum's values.

/// Implements `ALL`, `as_str`, `Display` and `FromStr` for an enum without data, from the names of its values.
///
/// `$what` is the noun for the enum in the error of `FromStr`. A list without one of the values does not compile. The
/// type `Error` of this crate must be in scope.
#[doc(hidden)]
#[macro_export]
macro_rules! enum_names {
    ($type:ident, $what:literal { $($variant:ident => $name:literal,)+ }) => {
        impl $type {
            /// All values, in the order of their declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name, as in JSON and in the stores.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                let value = Self::ALL.into_iter().find(|value| value.as_str() == text);
                value.ok_or_else(|| Error::unknown_name($what, &[$($name),+]))
            }
        }
    };
}
