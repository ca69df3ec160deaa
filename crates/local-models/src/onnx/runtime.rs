//! Loads the library of the ONNX Runtime and runs sessions.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use ort::{
    session::{Session, SessionInputValue, builder::GraphOptimizationLevel},
    value::Tensor,
};
use parking_lot::Mutex;

use super::{batch::Batch, options::OnnxOptions};
use crate::error::ModelError;

/// Inputs that a model may declare. It receives only those that it declares.
const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// A loaded session. It runs one call at a time.
pub(super) struct Runtime {
    session: Mutex<Session>,
    inputs: Vec<&'static str>,
}

/// The output of a model: the values with their shape.
#[derive(Debug)]
pub(super) struct OnnxOutput {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl Runtime {
    pub(super) fn open(file: &Path, options: &OnnxOptions) -> Result<Self, ModelError> {
        if !file.is_file() {
            return Err(ModelError::not_found(format!("{} does not exist", file.display())));
        }
        load(options.runtime.as_deref())?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let builder = Session::builder().map_err(|e| failed(&e))?;
        let builder = builder.with_optimization_level(GraphOptimizationLevel::All).map_err(|e| failed(&e))?;
        let mut builder = builder.with_intra_threads(threads).map_err(|e| failed(&e))?;
        let session =
            builder.commit_from_file(file).map_err(|e| ModelError::corrupt(format!("{}: {e}", file.display())))?;
        let supported = |name: &str| INPUTS.into_iter().find(|input| *input == name);
        let inputs = session.inputs().iter().map(|input| {
            let unknown = || ModelError::unsupported(format!("the model needs the unsupported input {}", input.name()));
            supported(input.name()).ok_or_else(unknown)
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        if !inputs.contains(&"input_ids") {
            return Err(ModelError::unsupported("the model is not a text encoder: it has no input input_ids"));
        }
        Ok(Self { session: Mutex::new(session), inputs })
    }

    /// Runs the model and returns its first output.
    pub(super) fn run(&self, batch: &Batch) -> Result<OnnxOutput, ModelError> {
        let shape = [batch.rows, batch.width];
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = Vec::new();
        for name in &self.inputs {
            let values = match *name {
                "input_ids" => &batch.ids,
                "attention_mask" => &batch.mask,
                _ => &batch.types,
            };
            let tensor = Tensor::from_array((shape, values.clone())).map_err(|e| failed(&e))?;
            inputs.push((name, tensor.into()));
        }
        let mut session = self.session.lock();
        let outputs = session.run(inputs).map_err(|e| failed(&e))?;
        let first = outputs.values().next().ok_or_else(|| ModelError::unsupported("the model has no output"))?;
        let wrong_type = |_| ModelError::unsupported("the model's first output is not 32-bit floats");
        let (shape, values) = first.try_extract_tensor::<f32>().map_err(wrong_type)?;
        let shape: Vec<usize> = shape.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect();
        if shape.first() != Some(&batch.rows) || shape.iter().product::<usize>() != values.len() {
            return Err(ModelError::unsupported(format!(
                "the output for {} texts has the shape {shape:?}",
                batch.rows
            )));
        }
        Ok(OnnxOutput { shape, values: values.to_vec() })
    }
}

/// The result of loading the library, which happens once in a process.
static LOAD_RESULT: OnceLock<Result<(), String>> = OnceLock::new();

/// Loads the library, once in a process.
///
/// `ort` must not be used before: it would search for a library itself and panic if there is none. It must not load
/// again after a failure (2.0.0-rc.13): it would then report success without a library.
fn load(configured: Option<&Path>) -> Result<(), ModelError> {
    if let Some(Ok(())) = LOAD_RESULT.get() {
        return Ok(());
    }
    let unusable = |reason: &str| {
        let advice = "set the path of the library of ONNX Runtime 1.17 or newer in the options or in ORT_DYLIB_PATH";
        ModelError::unsupported(format!("no usable ONNX Runtime was found: {reason}; {advice}"))
    };
    let configured = configured.map(Path::to_owned).or_else(|| env::var_os("ORT_DYLIB_PATH").map(PathBuf::from));
    let path = match configured.filter(|path| !path.as_os_str().is_empty()) {
        // `ort` resolves a relative path from the folder of the program. A missing file does not count as a failed
        // load.
        Some(path) if path.is_file() => std::path::absolute(&path).unwrap_or(path),
        Some(path) => return Err(unusable(&format!("{} does not exist", path.display()))),
        None => PathBuf::from(format!("{}onnxruntime{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)),
    };
    let load = || match ort::init_from(path) {
        Ok(environment) => {
            // If an environment exists already, it is used.
            environment.with_telemetry(false).commit();
            Ok(())
        }
        Err(e) => Err(e.to_string()),
    };
    let mut is_first_attempt = false;
    let loaded = LOAD_RESULT.get_or_init(|| {
        is_first_attempt = true;
        load()
    });
    loaded.as_ref().copied().map_err(|reason| {
        if is_first_attempt {
            unusable(reason)
        } else {
            unusable(&format!("{reason} (a process can try to load it only once)"))
        }
    })
}

fn failed(error: &impl fmt::Display) -> ModelError {
    ModelError::unsupported(format!("the ONNX Runtime reports an error: {error}"))
}
