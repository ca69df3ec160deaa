//! The setters of a builder or of options.

/// Writes setters of the form `options.with_limit(3)`, inside the `impl` of a type.
///
/// An argument with the name of a field sets this field. Otherwise the setter names the field and its value:
///
/// ```
/// # #[derive(Default)] pub struct Options { limit: usize, name: Option<String> }
/// impl Options {
///     memory_engine_core::setters! {
///         #![must_use]
///         /// Sets the limit.
///         with_limit(limit: usize);
///         /// Sets the name.
///         with_name(name: impl Into<String>) => name = Some(name.into());
///     }
/// }
/// # let options = Options::default().with_limit(3).with_name("evening");
/// # assert_eq!((options.limit, options.name.as_deref()), (3, Some("evening")));
/// ```
///
/// `#![must_use]` stands for the attribute on every setter. A type that has the attribute itself needs none here.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (#![must_use] $($setters:tt)+) => {
        $crate::setters! { @all [#[must_use]] $($setters)+ }
    };
    (@all $shared:tt $(
        $(#[$attribute:meta])* $name:ident($($argument:ident: $type:ty),+) $(=> $field:ident = $value:expr)?;
    )+) => {
        $($crate::setters! { @one $shared $(#[$attribute])* $name($($argument: $type),+) $(=> $field = $value)? })+
    };
    (@one $shared:tt $(#[$attribute:meta])* $name:ident($argument:ident: $type:ty)) => {
        $crate::setters! { @one $shared $(#[$attribute])* $name($argument: $type) => $argument = $argument }
    };
    (@one [$($shared:tt)*] $(#[$attribute:meta])* $name:ident($($argument:ident: $type:ty),+)
        => $field:ident = $value:expr) => {
        $(#[$attribute])*
        $($shared)*
        pub fn $name(mut self, $($argument: $type),+) -> Self {
            self.$field = $value;
            self
        }
    };
    ($($setters:tt)+) => {
        $crate::setters! { @all [] $($setters)+ }
    };
}
