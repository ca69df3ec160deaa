use super::*;

/// A statement that shows its operands in the text.
#[derive(Debug, Default)]
struct TextStatement(String);

impl SqlDialect for TextStatement {
    const TRUE: &'static str = "true";
    const FALSE: &'static str = "false";
    const IS_NOT_EMPTY_LIST: &'static str = " <> '{}'";
    const ADDRESS_COLUMNS: [&'static str; 3] = ["a.agent", "a.session", "a.branch"];

    fn append(&mut self, sql: &'static str) -> &mut Self {
        self.0.push_str(sql);
        self
    }
    fn join(&mut self, filters: &[Filter], separator: &'static str) {
        for (i, filter) in filters.iter().enumerate() {
            write(filter, self.append(if i > 0 { separator } else { "" }));
        }
    }
    fn compare(&mut self, op: Op, operands: Operands) {
        self.0.push_str(&format!("{}{operands:?}", operator(op)));
    }
    fn contains_any(&mut self, column: &'static str, texts: Vec<String>) {
        self.0.push_str(&format!("{column} contains {texts:?}"));
    }
    fn metadata_exists(&mut self, key: &str) {
        self.0.push_str(&format!("has {key}"));
    }
    fn compare_metadata(&mut self, key: &str, op: Op, operands: MetadataOperands) {
        self.0.push_str(&format!("{key}{}{operands:?}", operator(op)));
    }
}

fn sql(filter: &Filter) -> String {
    let mut statement = TextStatement::default();
    write(filter, &mut statement);
    statement.0
}

#[test]
fn conditions_are_never_null() {
    let cases = [
        (Filter::And(Vec::new()), "true"),
        (Filter::Or(Vec::new()), "false"),
        (Filter::eq(Field::Kind, "turn"), r#"(r.kind = Texts(["turn"]))"#),
        (Filter::eq(Field::Scene, "a"), r#"(r.scene IS NOT NULL AND r.scene = Texts(["a"]))"#),
        (Filter::eq(Field::Agent, "a"), r#"(a.agent <> '' AND a.agent = Texts(["a"]))"#),
        (Filter::eq(Field::Tags, "a"), r#"(r.tags contains ["a"])"#),
        (Filter::eq(Field::Id, "no id"), "false"),
        (Filter::Exists(Field::Tags), "(r.tags <> '{}')"),
        (Filter::Not(Box::new(Filter::Exists(Field::Metadata("k".into())))), "(NOT has k)"),
    ];
    for (filter, expected) in cases {
        assert_eq!(sql(&filter), expected);
    }
}

#[test]
fn a_filter_on_the_address_is_recognised() {
    let address = Filter::Exists(Field::Session);
    assert!(reads_address(&Filter::Not(Box::new(address.clone()))));
    assert!(reads_address(&Filter::Or(vec![Filter::Exists(Field::Kind), address])));
    assert!(!reads_address(&Filter::Exists(Field::Kind)));
}

/// A field without a column would be a condition that is false for every record.
#[test]
fn every_field_has_a_column() {
    for field in Field::plain() {
        let exists = Filter::Exists(field.clone());
        assert!(check(&exists).is_ok(), "{field:?}");
        assert_ne!(sql(&exists), TextStatement::FALSE, "{field:?}");
    }
}
