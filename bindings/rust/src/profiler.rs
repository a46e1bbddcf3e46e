// SPDX-License-Identifier: Apache-2.0
use crate::recorder::{self, Open, Whose};
use crate::stats::{begin, known, AdHocStats, HeapStats};
use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, MutexGuard};

/// A profiler that runs.
#[derive(Debug)]
struct Running {
    open: Option<Open>,
    /// Of an ad hoc one, which has no region.
    events: Option<AdHocStats>,
    is_testing: bool,
    has_asserted: bool,
    file: PathBuf,
}

static OF_PROCESS: Mutex<Option<Running>> = Mutex::new(None);

thread_local! {
    // A pointer, because what has to be dropped costs a thread an allocation when it is first
    // looked at. It is the profiler's, which does not leave its thread.
    static OF_THREAD: Cell<*mut Running> = const { Cell::new(ptr::null_mut()) };
}

fn of_process() -> MutexGuard<'static, Option<Running>> {
    // Whoever panicked with it changed nothing half.
    OF_PROCESS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The profiler that counts for this thread: its own, or that of the process.
fn with_running<T>(function: impl FnOnce(Option<&mut Running>) -> T) -> T {
    // SAFETY: it is alive until its profiler is dropped, which sets this to null first, and nobody
    // in this thread has another reference: `function` calls nothing that comes here.
    match unsafe { OF_THREAD.with(Cell::get).as_mut() } {
        Some(own) => function(Some(own)),
        None => function(of_process().as_mut()),
    }
}

/// One more event for the ad hoc profiler that counts for this thread, if there is one.
pub(crate) fn count_event(weight: u64) {
    let mut add = |running: &mut Running| {
        let events = running.events.as_mut()?;
        events.total_events += 1;
        events.total_units = events.total_units.wrapping_add(weight);
        Some(())
    };
    // SAFETY: as in with_running().
    let own = unsafe { OF_THREAD.with(Cell::get).as_mut() }.and_then(&mut add);
    if own.is_none() {
        of_process().as_mut().and_then(add);
    }
}

/// Counts the heap from when it is built until it is dropped, or ad hoc events.
///
/// A profile is written when it is dropped, and a summary to standard error: a capture of Tidemark
/// (`tidemark-heap.tide`), or pprof's format if the file's name ends with `.pb`. In tests
/// ([`ProfilerBuilder::testing`]) nothing is, unless an assertion of this crate fails.
///
/// ```
/// let _profiler = tidemark::Profiler::builder().testing().build();
/// let numbers = vec![1u64, 2, 3];
/// let stats = tidemark::HeapStats::get();
/// tidemark::assert_eq!(stats.curr_bytes, 24);
/// tidemark::assert!(stats.total_blocks == 1, "{} blocks for {numbers:?}", stats.total_blocks);
/// ```
#[derive(Debug)]
pub struct Profiler {
    whose: Whose,
    of_this_thread: PhantomData<*const ()>,
}

impl Profiler {
    /// Of the heap, of all threads.
    ///
    /// # Panics
    ///
    /// If one is running already.
    pub fn new_heap() -> Self {
        Self::builder().build()
    }

    /// Of ad hoc events, of all threads: see [`ad_hoc_event`](crate::ad_hoc_event).
    ///
    /// # Panics
    ///
    /// If one is running already.
    pub fn new_ad_hoc() -> Self {
        Self::builder().ad_hoc().build()
    }

    /// For what differs from the usual.
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder { whose: Whose::Process, is_ad_hoc: false, is_testing: false, file: None }
    }
}

/// See [`Profiler::builder`].
#[derive(Debug)]
#[must_use = "a profiler runs once it is built"]
pub struct ProfilerBuilder {
    whose: Whose,
    is_ad_hoc: bool,
    is_testing: bool,
    file: Option<PathBuf>,
}

impl ProfilerBuilder {
    /// For tests: [`assert!`](crate::assert!) and its kin may be used, and nothing is written
    /// unless one fails.
    pub fn testing(mut self) -> Self {
        self.is_testing = true;
        self
    }

    /// Counts [`ad_hoc_event`](crate::ad_hoc_event)s instead of the heap: [`AdHocStats`]. What is
    /// written is a capture, `tidemark-ad-hoc.tide`, for `tidemark report --events`.
    pub fn ad_hoc(mut self) -> Self {
        self.is_ad_hoc = true;
        self
    }

    /// Counts what this thread allocates and frees itself, so that any number of tests in parallel
    /// have one each.
    pub fn thread(mut self) -> Self {
        self.whose = Whose::Thread;
        self
    }

    /// Where the profile is written: a capture of Tidemark, or pprof's format for a name that ends
    /// with `.pb`.
    pub fn file_name<P: AsRef<Path>>(mut self, file_name: P) -> Self {
        self.file = Some(file_name.as_ref().to_owned());
        self
    }

    /// Taken for the sake of programs that were written for dhat, and of no effect: stacks are
    /// recorded whole, and shortened where they are shown.
    pub fn trim_backtraces(self, _max_frames: Option<usize>) -> Self {
        self
    }

    /// Begins.
    ///
    /// # Panics
    ///
    /// If one is running already: in the process, or with [`thread`](Self::thread) in this thread;
    /// without a recorder, where TIDEMARK_REQUIRED is set.
    pub fn build(self) -> Profiler {
        recorder::is_there(); // before anything is begun
        let file = if self.is_ad_hoc { "tidemark-ad-hoc.tide" } else { "tidemark-heap.tide" };
        let running = Running {
            open: None,
            events: self.is_ad_hoc.then(AdHocStats::default),
            is_testing: self.is_testing,
            has_asserted: false,
            file: self.file.unwrap_or_else(|| file.into()),
        };
        let begun = match self.whose {
            Whose::Process => begin_of_process(running),
            Whose::Thread => begin_of_thread(running),
        };
        begun.unwrap_or_else(|why| panic!("{why}"));
        Profiler { whose: self.whose, of_this_thread: PhantomData }
    }
}

const IS_RUNNING: &str = "tidemark: creating a profiler while a profiler is already running (in \
                          parallel tests, builder().thread() gives each its own)";

// Regions are begun last of all, so that nothing of ours is counted.

fn begin_of_process(running: Running) -> Result<(), String> {
    let mut place = of_process();
    if place.is_some() {
        return Err(IS_RUNNING.into());
    }
    let begun = place.insert(running).begin(Whose::Process);
    if begun.is_err() {
        *place = None;
    }
    begun
}

fn begin_of_thread(running: Running) -> Result<(), String> {
    if !OF_THREAD.with(Cell::get).is_null() {
        return Err(IS_RUNNING.into());
    }
    let mut own = Box::new(running);
    own.begin(Whose::Thread)?;
    OF_THREAD.with(|place| place.set(Box::into_raw(own)));
    Ok(())
}

impl Drop for Profiler {
    fn drop(&mut self) {
        let running = match self.whose {
            Whose::Process => of_process().take(),
            Whose::Thread => {
                let own = OF_THREAD.with(|own| own.replace(ptr::null_mut()));
                // SAFETY: it was leaked from a box when it began, and is nobody's any more.
                (!own.is_null()).then(|| *unsafe { Box::from_raw(own) })
            }
        };
        let Some(running) = running else { return };
        if running.is_testing || !recorder::is_recorded() {
            return;
        }
        if let Some(n) = running.events {
            eprintln!("tidemark: total {} units in {} events", n.total_units, n.total_events);
            running.write();
            return;
        }
        let Some(Ok(numbers)) = running.open.as_ref().map(Open::read) else {
            eprintln!("tidemark: the heap's numbers cannot be told");
            return;
        };
        let n = HeapStats::from(numbers);
        eprintln!(
            "tidemark: total {} bytes in {} blocks, at most {} bytes in {} blocks at once, at the \
             end {} bytes in {} blocks",
            n.total_bytes, n.total_blocks, n.max_bytes, n.max_blocks, n.curr_bytes, n.curr_blocks
        );
        running.write();
    }
}

impl Running {
    fn begin(&mut self, whose: Whose) -> Result<(), String> {
        if self.events.is_none() {
            self.open = begin(whose)?;
        }
        Ok(())
    }

    /// Says where, or why not.
    fn write(&self) {
        let (written, option) = match self.events {
            Some(_) => (write_capture(&self.file), " --events"),
            None => (write_profile(&self.file), ""),
        };
        match written {
            Ok(file) => {
                eprintln!("tidemark: saved {0}; next: tidemark report{option} {0}", file.display());
            }
            Err(error) => eprintln!("tidemark: {} was not written: {error}", self.file.display()),
        }
    }
}

/// A capture, which alone has events. Where the recorder cannot write one, its store has them.
fn write_capture(path: &Path) -> io::Result<PathBuf> {
    recorder::dump(&CString::new(path.as_os_str().as_bytes())?)?;
    Ok(path.to_owned())
}

/// A capture, or a profile of pprof; that, too, where the recorder cannot write a capture. Gives
/// the file that was written.
fn write_profile(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    if path.extension().map_or(true, |extension| extension != "pb") {
        match write_capture(&path) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => path.set_extension("pb"),
            done => return done,
        };
    }
    recorder::pprof_write(File::create(&path)?.as_raw_fd())?;
    Ok(path)
}

impl HeapStats {
    /// Since the profiler began that runs: this thread's own if it has one, else the process's.
    /// All 0 without a recorder.
    ///
    /// # Panics
    ///
    /// If none runs; after an assertion of this crate has failed; where the recorder cannot tell,
    /// see [`Region::change`](crate::Region::change).
    pub fn get() -> Self {
        let answer = with_running(|running| match running {
            None => Err("when no profiler is running"),
            Some(running) if running.has_asserted => Err("after the profiler has asserted"),
            Some(running) if running.events.is_some() => Err("while doing ad hoc profiling"),
            Some(running) => Ok(running.open.as_ref().map(Open::read)),
        });
        let numbers = answer.unwrap_or_else(|why| panic!("tidemark: getting heap stats {why}"));
        numbers.map(known).unwrap_or_default().into()
    }
}

impl AdHocStats {
    /// Since the ad hoc profiler began that runs: this thread's own if it has one, else the
    /// process's. All 0 without a recorder.
    ///
    /// # Panics
    ///
    /// If none runs, or one of the heap; after an assertion of this crate has failed.
    pub fn get() -> Self {
        let answer = with_running(|running| match running {
            None => Err("when no profiler is running"),
            Some(running) if running.has_asserted => Err("after the profiler has asserted"),
            Some(running) => running.events.ok_or("while doing heap profiling"),
        });
        answer.unwrap_or_else(|why| panic!("tidemark: getting ad hoc stats {why}"))
    }
}

/// Whether an assertion holds. One that does not writes the profile: the caller panics then.
/// Without a recorder there is nothing to assert.
#[doc(hidden)]
pub fn holds(condition: impl FnOnce() -> bool) -> bool {
    let refused = with_running(|running| match running {
        None => Some("when no profiler is running"),
        Some(running) if !running.is_testing => Some("while not in testing mode"),
        Some(running) if running.has_asserted => Some("after the profiler has asserted"),
        Some(_) => None,
    });
    if let Some(why) = refused {
        panic!("tidemark: asserting {why}");
    }
    if !recorder::is_there() || condition() {
        return true;
    }
    with_running(|running| {
        if let Some(running) = running {
            running.has_asserted = true;
            running.write();
        }
    });
    false
}
