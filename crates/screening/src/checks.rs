//! Checks of a value that an expression has found: check digits, and the form of passwords and keys.

mod digits;
mod identity;
mod values;

use std::ops::Range;

use serde::Deserialize;

pub(crate) use values::entropy;

/// The check of a rule. The expression of the rule finds a candidate, and the check decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Check {
    /// A key with a prefix of its own. It is extended to the end of its characters.
    #[default]
    Key,
    /// A value as it was found.
    Exact,
    /// A password. Ordinary words and quantities are none.
    Password,
    /// A password with letters and digits.
    MixedPassword,
    /// A password without words such as `is` before it: letters and digits that are no name of a version or standard.
    UnmarkedPassword,
    /// The words of a recovery phrase, up to the first word that no such phrase has.
    SeedPhrase,
    /// A one-time code. Quantities are none.
    Code,
    /// A long value with letters and digits.
    Token,
    /// A number that is not part of a longer one.
    Number,
    /// A telephone number: 7 to 15 digits, and not a date.
    Phone,
    /// A payment card: prefix and length of a network, and the Luhn digit.
    Card,
    /// An IBAN: length of the country, and the check digits.
    Iban,
    /// An identity number of China (GB 11643).
    ChinaResidentId,
    /// An identity number of Taiwan.
    TaiwanId,
    /// An identity card of Hong Kong.
    HongKongId,
    /// An identity number of Singapore.
    SingaporeNric,
    /// A resident registration number of Korea.
    KoreaRrn,
    /// An individual number of Japan (My Number).
    JapanMyNumber,
    /// An Aadhaar number of India.
    IndiaAadhaar,
    /// A social security number of the United States. It has no check digit.
    UsSsn,
    /// A social insurance number of Canada.
    CanadaSin,
    /// A CPF of Brazil.
    BrazilCpf,
    /// A CURP of Mexico.
    MexicoCurp,
    /// A RUT of Chile.
    ChileRut,
    /// A DNI or NIE of Spain.
    SpainDni,
    /// A NIR of France.
    FranceNir,
    /// A codice fiscale of Italy.
    ItalyCodiceFiscale,
    /// A citizen service number of the Netherlands.
    NetherlandsBsn,
    /// A PESEL of Poland.
    PolandPesel,
    /// A personal identity number of Sweden.
    SwedenPersonnummer,
    /// A personal identity code of Finland.
    FinlandHetu,
    /// An AHV number of Switzerland.
    SwitzerlandAhv,
    /// A tax identification number of Germany.
    GermanyTaxId,
    /// An NHS number of the United Kingdom.
    UkNhs,
    /// An identity number of Turkey.
    TurkeyTckn,
    /// An identity number of South Africa.
    SouthAfricaId,
    /// A tax file number of Australia.
    AustraliaTfn,
}

impl Check {
    /// Returns the position of a value without the punctuation of the sentence around it, and with the rest of its
    /// characters.
    pub(crate) fn trimmed(self, text: &str, range: Range<usize>) -> Range<usize> {
        if self == Self::Key {
            values::extended(text, range)
        } else if matches!(self, Self::Password | Self::MixedPassword | Self::UnmarkedPassword | Self::Token) {
            values::without_punctuation(text, range)
        } else if self == Self::SeedPhrase {
            values::before_other_words(text, range)
        } else if self == Self::Iban {
            identity::without_next_words(text, range)
        } else {
            range
        }
    }

    /// Returns true if the value at this position is what the rule looks for.
    pub(crate) fn accepts(self, text: &str, range: &Range<usize>) -> bool {
        let value = &text[range.clone()];
        let check: fn(&str) -> bool = match self {
            Self::Key | Self::Exact => return true,
            Self::Password => return values::is_password(text, range),
            Self::MixedPassword => return values::is_mixed(value) && values::is_password(text, range),
            Self::UnmarkedPassword => return values::is_distinct(value) && values::is_password(text, range),
            Self::SeedPhrase => return values::is_seed_phrase(value),
            Self::Code => return values::is_code(text, range),
            Self::Token => return values::is_token(text, range),
            Self::Number => |_| true,
            Self::Phone => values::is_phone,
            Self::Card => identity::is_card,
            Self::Iban => identity::is_iban,
            Self::ChinaResidentId => identity::is_china_resident_id,
            Self::TaiwanId => identity::is_taiwan_id,
            Self::HongKongId => identity::is_hong_kong_id,
            Self::SingaporeNric => identity::is_singapore_nric,
            Self::KoreaRrn => identity::is_korea_rrn,
            Self::JapanMyNumber => identity::is_japan_my_number,
            Self::IndiaAadhaar => identity::is_india_aadhaar,
            Self::UsSsn => identity::is_us_ssn,
            Self::CanadaSin => identity::is_canada_sin,
            Self::BrazilCpf => identity::is_brazil_cpf,
            Self::MexicoCurp => identity::is_mexico_curp,
            Self::ChileRut => identity::is_chile_rut,
            Self::SpainDni => identity::is_spain_dni,
            Self::FranceNir => identity::is_france_nir,
            Self::ItalyCodiceFiscale => identity::is_italy_codice_fiscale,
            Self::NetherlandsBsn => identity::is_netherlands_bsn,
            Self::PolandPesel => identity::is_poland_pesel,
            Self::SwedenPersonnummer => identity::is_sweden_personnummer,
            Self::FinlandHetu => identity::is_finland_hetu,
            Self::SwitzerlandAhv => identity::is_switzerland_ahv,
            Self::GermanyTaxId => identity::is_germany_tax_id,
            Self::UkNhs => identity::is_uk_nhs,
            Self::TurkeyTckn => identity::is_turkey_tckn,
            Self::SouthAfricaId => identity::is_south_africa_id,
            Self::AustraliaTfn => identity::is_australia_tfn,
        };
        values::is_separate(text, range) && check(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_values() {
        let is_separate = |text: &str| {
            let start = text.find("4711").unwrap_or_default();
            values::is_separate(text, &(start..start + 4))
        };
        assert!(is_separate("4711") && is_separate("号码4711。") && is_separate("(4711)-") && is_separate("-4711."));
        assert!(!is_separate("a4711") && !is_separate("4711_") && !is_separate("3.4711") && !is_separate("4711-2"));
    }

    #[test]
    fn keys_extend_to_their_end() {
        assert_eq!(Check::Key.trimmed("ghp_abc-def, x", 0..5), 0..11);
        assert_eq!(Check::Password.trimmed("(secret).", 1..9), 1..7);
    }
}
