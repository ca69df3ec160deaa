//! Generated secrets and personal data.

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const WORDS: &[&str] =
    &["orchid", "Falcon", "river", "Marble", "pickle", "Winter", "cobalt", "maple", "Rocket", "lantern", "Saffron"];
const NAMES: &[&str] = &["lin.wei", "dkowalski", "m.garcia", "chenjing", "o_brien", "wang88"];
const HOSTS: &[&str] = &["db-1.internal", "10.2.0.15", "cluster0.h4k2.example.net", "cache"];

/// A generator of values. The same seed gives the same values.
pub(crate) struct Values(u64);

impl Values {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn pick<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.next(values.len())]
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let characters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| characters[self.next(characters.len())]).collect()
    }

    fn alphanumeric(&mut self, length: usize) -> String {
        self.text(&format!("{LOWER}{UPPER}{DIGITS}"), length)
    }

    fn digits(&mut self, length: usize) -> String {
        self.text(DIGITS, length)
    }

    /// Returns the part of a value that must not remain: of an address, the password.
    pub(crate) fn secret_of(value: &str) -> String {
        let password = value.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        match password {
            Some((login, _)) => login.split_once(':').map_or(login, |(_, password)| password).to_owned(),
            None => value.to_owned(),
        }
    }

    /// Returns a value of a kind, or `None` if there is no such kind.
    pub(crate) fn of(&mut self, kind: &str) -> Option<String> {
        Some(match kind {
            "password" => self.password(),
            "pin" => {
                let length = 4 + 2 * self.next(2);
                self.digits(length)
            }
            "otp" => self.digits(6),
            "zh_pin" => self.text("零一二三四五六七八九", 6),
            "code4" => self.text(&format!("{LOWER}{DIGITS}"), 3) + &self.digits(1),
            "aws_key" => "AKIA".to_owned() + &self.text(&format!("{UPPER}234567"), 16),
            "aws_secret" => self.alphanumeric(40),
            "github_token" => "ghp_".to_owned() + &self.alphanumeric(36),
            "openai_key" => "sk-proj-".to_owned() + &self.alphanumeric(80),
            "anthropic_key" => "sk-ant-api03-".to_owned() + &self.alphanumeric(93) + "AA",
            "stripe_key" => "sk_live_".to_owned() + &self.alphanumeric(24),
            "slack_token" => format!("xoxb-{}-{}-{}", self.digits(12), self.digits(12), self.alphanumeric(24)),
            "google_key" => "AIza".to_owned() + &self.alphanumeric(35),
            "hf_token" => "hf_".to_owned() + &self.text(&format!("{LOWER}{UPPER}"), 34),
            "gitlab_token" => "glpat-".to_owned() + &self.alphanumeric(20),
            "npm_token" => "npm_".to_owned() + &self.alphanumeric(36),
            "sendgrid_key" => format!("SG.{}.{}", self.alphanumeric(22), self.alphanumeric(43)),
            "aliyun_key" => "LTAI".to_owned() + &self.alphanumeric(20),
            "tencent_id" => "AKID".to_owned() + &self.alphanumeric(32),
            "opaque" => {
                let length = 20 + self.next(24);
                self.alphanumeric(length)
            }
            "hex32" => self.text(HEX, 32),
            "jwt" => format!("eyJ{}.eyJ{}.{}", self.alphanumeric(33), self.alphanumeric(60), self.alphanumeric(43)),
            "private_key" => format!(
                "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n{}\n-----END OPENSSH PRIVATE KEY-----",
                self.alphanumeric(70),
                self.alphanumeric(64)
            ),
            "pg_url" => self.address("postgres", "app", "shop"),
            "mongo_url" => self.address("mongodb", "root", "logs"),
            "redis_url" => self.address("redis", "", "0"),
            "card" => self.card(),
            "card_spaced" => grouped(&self.card(), &[4, 4, 4, 4], ' '),
            "iban" => self.iban(),
            "ssn" => {
                format!("{}{}-{}-{}", 1 + self.next(5), self.digits(2), 10 + self.next(89), 1000 + self.next(8999))
            }
            "aadhaar" => self.aadhaar(),
            "nric" => self.nric(),
            "cpf" => self.cpf(),
            "hkid" => self.hkid(),
            "dni" => {
                let number = 10_000_000 + self.next(89_999_999);
                format!("{number}{}", char::from(b"TRWAGMYFPDXBNJZSQVHLCKE"[number % 23]))
            }
            "cn_id" => self.china_id(),
            "email" => {
                format!("{}{}@{}", self.pick(NAMES), self.digits(2), self.pick(&["gmail.com", "qq.com", "acme.co.uk"]))
            }
            "us_phone" => {
                let separator = self.pick(&["-", ".", " "]);
                format!(
                    "{}{separator}{}{separator}{}",
                    200 + self.next(700),
                    200 + self.next(700),
                    1000 + self.next(8999)
                )
            }
            "intl_phone" => {
                format!("+{} {} {}", self.pick(&["44", "49", "33", "81", "61"]), self.digits(3), self.digits(6))
            }
            "cn_mobile" => format!("1{}{}", 3 + self.next(7), self.digits(9)),
            "cn_mobile_spaced" => grouped(&format!("1{}{}", 3 + self.next(7), self.digits(9)), &[3, 4, 4], ' '),
            "cn_landline" => {
                format!("0{}-{}{}", self.pick(&["10", "21", "755", "571"]), 2 + self.next(7), self.digits(7))
            }
            _ => return None,
        })
    }

    fn password(&mut self) -> String {
        match self.next(5) {
            0 => format!("{}{}", self.pick(WORDS), self.digits(3)),
            1 => format!("{}-{}-{}", self.pick(WORDS), self.pick(WORDS), self.digits(2)),
            2 => self.alphanumeric(9) + &self.digits(1),
            3 => format!("{}@{}{}", self.pick(WORDS), self.digits(4), self.pick(&["!", "x", "_q"])),
            _ => format!("{}{}", self.text(LOWER, 3), self.digits(6)),
        }
    }

    fn address(&mut self, scheme: &str, user: &str, path: &str) -> String {
        let password = self.password().replace(['@', '!'], "Z");
        format!("{scheme}://{user}:{password}@{}/{path}", self.pick(HOSTS))
    }

    fn card(&mut self) -> String {
        let body = self.pick(&["4", "51", "53", "6225"]).to_owned();
        let body = body.clone() + &self.digits(15 - body.len());
        let sum: u32 = body
            .chars()
            .rev()
            .enumerate()
            .map(|(i, c)| {
                let digit = c.to_digit(10).unwrap() * if i % 2 == 0 { 2 } else { 1 };
                digit / 10 + digit % 10
            })
            .sum();
        format!("{body}{}", (10 - sum % 10) % 10)
    }

    fn iban(&mut self) -> String {
        let account = self.digits(18);
        // DE is 13 14.
        let rest = format!("{account}131400").chars().fold(0, |rest, c| (rest * 10 + c.to_digit(10).unwrap()) % 97);
        let plain = format!("DE{:02}{account}", 98 - rest);
        if self.next(2) == 0 { plain } else { grouped(&plain, &[4, 4, 4, 4, 4, 2], ' ') }
    }

    fn aadhaar(&mut self) -> String {
        const PRODUCT: [[usize; 10]; 10] = [
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
            [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
            [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
            [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
            [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
            [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
            [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
            [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
            [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        ];
        const PERMUTATION: [[usize; 10]; 8] = [
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
            [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
            [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
            [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
            [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
            [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
            [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
        ];
        const INVERSE: [usize; 10] = [0, 4, 3, 2, 1, 5, 6, 7, 8, 9];
        let body = format!("{}{}", 2 + self.next(8), self.digits(10));
        let digits = body.chars().rev().map(|c| c.to_digit(10).unwrap() as usize);
        let check = digits.enumerate().fold(0, |check, (i, digit)| PRODUCT[check][PERMUTATION[(i + 1) % 8][digit]]);
        grouped(&format!("{body}{}", INVERSE[check]), &[4, 4, 4], ' ')
    }

    fn nric(&mut self) -> String {
        let digits = self.digits(7);
        let weights = [2, 7, 6, 5, 4, 3, 2];
        let sum: usize = digits.chars().zip(weights).map(|(c, weight)| c.to_digit(10).unwrap() as usize * weight).sum();
        format!("S{digits}{}", char::from(b"JZIHGFEDCBA"[sum % 11]))
    }

    fn cpf(&mut self) -> String {
        let mut digits: Vec<usize> = (0..9).map(|_| self.next(10)).collect();
        for length in [9, 10] {
            let sum: usize = digits.iter().zip((2..=length + 1).rev()).map(|(digit, weight)| digit * weight).sum();
            digits.push(if sum % 11 < 2 { 0 } else { 11 - sum % 11 });
        }
        let text: String = digits.iter().map(ToString::to_string).collect();
        format!("{}.{}.{}-{}", &text[..3], &text[3..6], &text[6..9], &text[9..])
    }

    fn hkid(&mut self) -> String {
        let letter = self.next(26);
        let digits = self.digits(6);
        let sum: usize = 324
            + 8 * (letter + 10)
            + digits
                .chars()
                .zip((2..=7).rev())
                .map(|(c, weight)| c.to_digit(10).unwrap() as usize * weight)
                .sum::<usize>();
        let check = match (11 - sum % 11) % 11 {
            10 => "A".to_owned(),
            digit => digit.to_string(),
        };
        format!("{}{digits}({check})", char::from(b'A' + letter as u8))
    }

    fn china_id(&mut self) -> String {
        let weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
        let region = self.pick(&["110108", "310104", "440106", "330102", "510105"]);
        let body = format!(
            "{region}{}{:02}{:02}{}",
            1950 + self.next(60),
            1 + self.next(12),
            1 + self.next(28),
            self.digits(3)
        );
        let sum: usize = body.chars().zip(weights).map(|(c, weight)| c.to_digit(10).unwrap() as usize * weight).sum();
        format!("{body}{}", char::from(b"10X98765432"[sum % 11]))
    }
}

fn grouped(text: &str, lengths: &[usize], separator: char) -> String {
    let mut start = 0;
    let groups = lengths.iter().map(|length| {
        let group = &text[start..start + length];
        start += length;
        group
    });
    groups.collect::<Vec<_>>().join(&separator.to_string())
}
