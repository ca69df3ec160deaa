//! Layout of a cache file: a sequence of segments. `docs/design/index-cache.md` describes it byte by byte.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Take, Write},
};

use memory_engine_core::snapshot::{SnapshotReader, SnapshotWriter};

use crate::{cache::policy::CachePolicy, database::epoch::Stamp};

/// Identifies a segment and the version of its layout. Segments of other versions are ignored and rebuilt.
const FORMAT: u64 = u64::from_le_bytes(*b"MemIdx04");
/// Number of bytes that hold the length of a segment. The length is 0 until the segment is complete.
pub(crate) const LENGTH_BYTES: u64 = 8;
/// Number of bytes of the checksum at the end of a segment.
const CHECKSUM_BYTES: u64 = 8;
/// Number of fields of a segment header.
const HEADER_FIELDS: usize = 10;

/// Reads the body of a segment.
pub(crate) type SegmentReader<'f> = SnapshotReader<Take<&'f mut BufReader<File>>>;
/// Writes the body of a segment.
pub(crate) type SegmentWriter = SnapshotWriter<BufWriter<File>>;

/// The part that a segment has in a cache that was written at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SegmentRole {
    /// A segment that was appended. It is valid alone.
    #[default]
    Appended,
    /// A segment of a rebuilt cache. It is valid if a list of the segments follows and contains it.
    Listed,
    /// The list of the segments of a rebuilt cache, without records.
    List,
}

impl SegmentRole {
    fn number(self) -> u64 {
        match self {
            Self::Appended => 0,
            Self::Listed => 1,
            Self::List => 2,
        }
    }

    fn numbered(number: u64) -> Option<Self> {
        [Self::Appended, Self::Listed, Self::List].into_iter().find(|role| role.number() == number)
    }
}

/// Length and checksum of a segment.
pub(crate) type SegmentDigest = [u64; 2];

/// Header of a segment: describes its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The segment contains the changes after this one.
    pub(crate) base_change: i64,
    /// The segment contains the changes up to this one.
    pub(crate) newest_change: i64,
    /// Number of records in the segment.
    pub(crate) records: u64,
    /// Number of records of earlier segments that are deleted or replaced.
    pub(crate) obsolete: u64,
    /// The greatest row of this segment and of the earlier ones, or a greater number.
    pub(crate) last_row: i64,
    /// The role of the segment.
    pub(crate) role: SegmentRole,
}

/// Writes a segment at `start`, the end of the file. The length is written last, so that the length of an incomplete
/// segment is 0.
pub(crate) fn write_segment(
    mut file: File,
    start: u64,
    stamp: Stamp,
    header: SegmentHeader,
    body: impl FnOnce(&mut SegmentWriter) -> io::Result<()>,
) -> io::Result<File> {
    file.write_all(&0_u64.to_le_bytes())?;
    let buffer = BufWriter::with_capacity(CachePolicy::DEFAULT.write_buffer_bytes, file);
    let mut output = SnapshotWriter::new(buffer)?;
    let fields: [u64; HEADER_FIELDS] = [
        FORMAT,
        stamp.epoch,
        header.base_change as u64,
        header.newest_change as u64,
        stamp.fingerprint as u64,
        (stamp.fingerprint >> 64) as u64,
        header.records,
        header.obsolete,
        header.last_row as u64,
        header.role.number(),
    ];
    fields.into_iter().try_for_each(|field| output.number(field))?;
    body(&mut output)?;
    let mut file = output.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    let length = file.stream_position()? - start - LENGTH_BYTES;
    file.seek(SeekFrom::Start(start))?;
    file.write_all(&length.to_le_bytes())?;
    Ok(file)
}

/// Reads the length of the segment at `start`. Returns `None` at the end of the file and for a segment that is not
/// complete.
pub(crate) fn read_length(file: &mut BufReader<File>, start: u64, file_length: u64) -> io::Result<Option<u64>> {
    if start + LENGTH_BYTES >= file_length {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = [0; LENGTH_BYTES as usize];
    file.read_exact(&mut bytes)?;
    let length = u64::from_le_bytes(bytes);
    Ok((1..=file_length - start - LENGTH_BYTES).contains(&length).then_some(length))
}

/// Reads the checksum at the end of the segment at `start`, and returns it with the length.
pub(crate) fn read_digest(file: &mut (impl Read + Seek), start: u64, length: u64) -> io::Result<SegmentDigest> {
    let checksum_start = (start + LENGTH_BYTES + length).checked_sub(CHECKSUM_BYTES);
    file.seek(SeekFrom::Start(checksum_start.ok_or(io::ErrorKind::InvalidData)?))?;
    let mut bytes = [0; CHECKSUM_BYTES as usize];
    file.read_exact(&mut bytes)?;
    Ok([length, u64::from_le_bytes(bytes)])
}

/// Reads the header of the segment at `start`. Returns it with its stamp and a reader of the body.
///
/// # Errors
/// Returns `InvalidData` for a segment of another epoch or format.
pub(crate) fn open_segment(
    file: &mut BufReader<File>,
    start: u64,
    length: u64,
    epoch: u64,
) -> io::Result<(SegmentReader<'_>, SegmentHeader, Stamp)> {
    file.seek(SeekFrom::Start(start + LENGTH_BYTES))?;
    let mut input = SnapshotReader::new(file.take(length), length)?;
    let mut fields = [0; HEADER_FIELDS];
    for field in &mut fields {
        *field = input.number()?;
    }
    let [format, segment_epoch, base_change, newest_change, low, high, records, obsolete, last_row, role] = fields;
    if format != FORMAT || segment_epoch != epoch {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let role = SegmentRole::numbered(role).ok_or(io::ErrorKind::InvalidData)?;
    let header = SegmentHeader {
        base_change: base_change as i64,
        newest_change: newest_change as i64,
        records,
        obsolete,
        last_row: last_row as i64,
        role,
    };
    let stamp = Stamp { epoch, fingerprint: u128::from(high) << 64 | u128::from(low) };
    Ok((input, header, stamp))
}
