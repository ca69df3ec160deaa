//! The files of the benchmark.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, de::DeserializeOwned};

/// One directory of data, as far as it concerns this many records of this many dimensions.
#[derive(Debug)]
pub(crate) struct Data {
    root: PathBuf,
    pub(crate) records: usize,
    dimensions: usize,
    /// The first record that is held out for inserts one by one.
    pub(crate) held_out: usize,
}

/// A record as it is in the file; the words of `tokens` are left alone.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: usize,
    pub(crate) scope: String,
    pub(crate) org: String,
    pub(crate) ts: i64,
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// A query as it is in the file.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) target: usize,
    pub(crate) scope: String,
    pub(crate) org: String,
    pub(crate) t_from: i64,
    pub(crate) t_to: i64,
    pub(crate) text: String,
}

impl Data {
    pub(crate) fn open(root: &Path, records: usize, dimensions: usize) -> Result<Self> {
        #[derive(Deserialize)]
        struct Manifest {
            n_max: usize,
        }
        let path = root.join("manifest.json");
        let file = File::open(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let Manifest { n_max } = serde_json::from_reader(BufReader::new(file))?;
        ensure!(records <= n_max, "there are {n_max} records, not {records}");
        Ok(Self { root: root.to_owned(), records, dimensions, held_out: n_max })
    }

    /// The records, line by line from the first one on.
    pub(crate) fn rows(&self) -> Result<impl Iterator<Item = Result<Row>>> {
        lines(&self.root.join("records.jsonl"))
    }

    /// The questions with their vectors.
    pub(crate) fn questions(&self) -> Result<Vec<(Question, Vec<f32>)>> {
        let n = self.records;
        let questions: Vec<Question> = lines(&self.root.join(format!("queries_n{n}.jsonl")))?.collect::<Result<_>>()?;
        let mut vectors = self.matrix(&format!("q_n{n}_d{}.npy", self.dimensions))?;
        let vectors = vectors.take(questions.len())?;
        Ok(questions.into_iter().zip(vectors).collect())
    }

    /// The vectors of the records, from the first one on.
    pub(crate) fn vectors(&self) -> Result<Matrix> {
        self.matrix(&format!("vectors_d{}.npy", self.dimensions))
    }

    /// For each question the ten records that are nearest by the exact cosine; fewer, where there are no ten.
    pub(crate) fn nearest(&self, mode: &str) -> Result<Vec<Vec<usize>>> {
        let (bytes, columns) = npy(&self.root.join(format!("gold_{mode}_n{}_d{}.npy", self.records, self.dimensions)))?;
        let mut all = Vec::new();
        BufReader::new(bytes).read_to_end(&mut all)?;
        let ids: Vec<i32> = all.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let row = |ids: &[i32]| ids.iter().filter_map(|id| usize::try_from(*id).ok()).collect();
        Ok(ids.chunks_exact(columns.max(1)).map(row).collect())
    }

    fn matrix(&self, name: &str) -> Result<Matrix> {
        let (file, columns) = npy(&self.root.join(name))?;
        ensure!(columns == self.dimensions, "{name} has {columns} columns");
        Ok(Matrix { file: BufReader::new(file), columns })
    }
}

/// Rows of numbers, read in their order.
#[derive(Debug)]
pub(crate) struct Matrix {
    file: BufReader<File>,
    columns: usize,
}

impl Matrix {
    /// Returns the next rows.
    pub(crate) fn take(&mut self, rows: usize) -> Result<Vec<Vec<f32>>> {
        let mut bytes = vec![0; self.columns * 4];
        let mut row = || {
            self.file.read_exact(&mut bytes)?;
            Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
        };
        (0..rows).map(|_| row()).collect()
    }

    /// Skips the next rows.
    pub(crate) fn skip(&mut self, rows: usize) -> Result<()> {
        self.file.seek_relative((rows * self.columns * 4) as i64)?;
        Ok(())
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<impl Iterator<Item = Result<T>> + use<T>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(BufReader::new(file).lines().map(|line| Ok(serde_json::from_str(&line?)?)))
}

/// A file of NumPy's format 1.0 behind its head, and how many columns it has. All files here are of 4-byte numbers,
/// little end first and row by row.
fn npy(path: &Path) -> Result<(File, usize)> {
    let mut file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut head = [0; 10];
    file.read_exact(&mut head)?;
    ensure!(&head[..7] == b"\x93NUMPY\x01", "{} is no NumPy file of format 1.0", path.display());
    let mut text = vec![0; usize::from(u16::from_le_bytes([head[8], head[9]]))];
    file.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let plain = (text.contains("'<f4'") || text.contains("'<i4'")) && text.contains("'fortran_order': False");
    ensure!(plain, "{} holds something else: {text}", path.display());
    let shape = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(shape, _)| shape);
    let columns = shape.and_then(|shape| shape.split(',').nth(1)).and_then(|columns| columns.trim().parse().ok());
    file.seek(SeekFrom::Start(10 + text.len() as u64))?;
    Ok((file, columns.with_context(|| format!("{} has no columns", path.display()))?))
}
