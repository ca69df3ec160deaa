//! The ONNX Runtime: loading the shared library and running a session.

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

/// Output values with their shape.
#[derive(Debug)]
pub(super) struct Output {
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
            return Err(ModelError::not_found(format!("there is no {}", file.display())));
        }
        load(options.runtime.as_deref())?;
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = options.threads.unwrap_or(threads).max(1);
        let builder = Session::builder().map_err(|e| failed(&e))?;
        let builder = builder.with_optimization_level(GraphOptimizationLevel::All).map_err(|e| failed(&e))?;
        let mut builder = builder.with_intra_threads(threads).map_err(|e| failed(&e))?;
        let session =
            builder.commit_from_file(file).map_err(|e| ModelError::corrupt(format!("{}: {e}", file.display())))?;
        let known = |name: &str| INPUTS.into_iter().find(|known| *known == name);
        let inputs = session.inputs().iter().map(|input| {
            let unknown = || {
                ModelError::unsupported(format!("the model wants the input {}, which is not known here", input.name()))
            };
            known(input.name()).ok_or_else(unknown)
        });
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        if !inputs.contains(&"input_ids") {
            return Err(ModelError::unsupported("the model takes no input_ids: it is no text encoder"));
        }
        Ok(Self { session: Mutex::new(session), inputs })
    }

    /// Runs the model and gives its first output.
    pub(super) fn run(&self, batch: &Batch) -> Result<Output, ModelError> {
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
        let first = outputs.values().next().ok_or_else(|| ModelError::unsupported("the model gives nothing"))?;
        let numbers = |_| ModelError::unsupported("the model's first output is not 32-bit floats");
        let (shape, values) = first.try_extract_tensor::<f32>().map_err(numbers)?;
        let shape: Vec<usize> = shape.iter().map(|size| usize::try_from(*size).unwrap_or(0)).collect();
        if shape.first() != Some(&batch.rows) || shape.iter().product::<usize>() != values.len() {
            return Err(ModelError::unsupported(format!("{} texts gave an output of the shape {shape:?}", batch.rows)));
        }
        Ok(Output { shape, values: values.to_vec() })
    }
}

/// The result of loading the library, which happens once in a process.
static LOADED: OnceLock<Result<(), String>> = OnceLock::new();

/// Loads the library. `ort` must be asked for nothing before that, for it would look for one by itself, and panic where
/// there is none; and it must not be asked a second time after a failure (2.0.0-rc.13), for it would then take what it
/// never loaded for loaded.
fn load(named: Option<&Path>) -> Result<(), ModelError> {
    if let Some(Ok(())) = LOADED.get() {
        return Ok(());
    }
    let unusable = |why: &str| {
        let advice = "name the library of ONNX Runtime 1.17 or newer in the options or in ORT_DYLIB_PATH";
        ModelError::unsupported(format!("there is no usable ONNX Runtime: {why}; {advice}"))
    };
    let named = named.map(Path::to_owned).or_else(|| env::var_os("ORT_DYLIB_PATH").map(PathBuf::from));
    let path = match named.filter(|path| !path.as_os_str().is_empty()) {
        // `ort` takes a relative path from the program's own folder. A file that is missing is no attempt.
        Some(path) if path.is_file() => std::path::absolute(&path).unwrap_or(path),
        Some(path) => return Err(unusable(&format!("there is no file {}", path.display()))),
        None => PathBuf::from(format!("{}onnxruntime{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)),
    };
    let load = || match ort::init_from(path) {
        Ok(environment) => {
            // An environment that is there already is as good.
            environment.with_telemetry(false).commit();
            Ok(())
        }
        Err(e) => Err(e.to_string()),
    };
    let mut first = false;
    let loaded = LOADED.get_or_init(|| {
        first = true;
        load()
    });
    loaded.as_ref().copied().map_err(|why| {
        if first { unusable(why) } else { unusable(&format!("{why} (this process tried, and can try only once)")) }
    })
}

fn failed(error: &impl fmt::Display) -> ModelError {
    ModelError::unsupported(format!("the ONNX Runtime refuses: {error}"))
}
