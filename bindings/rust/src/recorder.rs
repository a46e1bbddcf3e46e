// SPDX-License-Identifier: Apache-2.0
//
//! The recorder in this process, if there is one: what it exports (include/tidemark/tidemark.h),
//! found by name the first time, so that nothing is linked. One that is put into the process later,
//! by `tidemark attach`, is reached by the door (door.rs).
use crate::door::{self, Asks};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::io;
use std::sync::{Once, OnceLock};

extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Whose numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Process = 0,
    Thread = 1,
}

/// `struct tidemark_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub allocations: u64,
    pub deallocations: u64,
    pub reallocations: u64,
    pub bytes_allocated: u64,
    pub bytes_deallocated: u64,
    pub bytes_reallocated: i64,
    pub current_blocks: i64,
    pub current_bytes: i64,
    pub max_blocks: i64,
    pub max_bytes: i64,
    pub bytes_fresh: u64,
    pub bytes_resized: u64,
}

/// `struct tidemark_region`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Opaque([u64; 24]);

type Size = usize;

/// Declares what the recorder exports. Each is None where there is no recorder, or an older one.
macro_rules! exports {
    ($($name:ident: fn($($argument:ty),*);)*) => {
        #[derive(Debug)]
        struct Exports {
            $($name: Option<unsafe extern "C" fn($($argument),*) -> c_int>,)*
        }
        impl Exports {
            fn find() -> Self {
                Self {
                    $($name: {
                        let name = concat!("tidemark_v1_", stringify!($name), "\0");
                        // SAFETY: the name ends with a zero; NULL asks all objects of the process.
                        let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr().cast()) };
                        // SAFETY: version 1 of a name has this type, whichever recorder exports it.
                        unsafe { std::mem::transmute::<*mut c_void, Option<_>>(found) }
                    },)*
                }
            }
        }
    };
}

exports! {
    pprof_write: fn(c_int);
    stats: fn(c_int, *mut c_void, Size);
    region_begin: fn(*mut c_void, Size, c_int);
    region_read: fn(*const c_void, *mut c_void, Size);
    region_end: fn(*mut c_void, *mut c_void, Size);
    mark: fn(*const c_char);
    pause: fn();
    resume: fn();
    dump: fn(*const c_char);
    event: fn(u64);
    scope_begin: fn(*const c_char);
    scope_end: fn();
    pool_begin: fn();
    pool_end: fn();
    block_alloc: fn(*const c_void, Size);
    block_free: fn(*const c_void);
    blocks_free: fn(*const c_void, Size);
}

fn exports() -> &'static Exports {
    static EXPORTS: OnceLock<Exports> = OnceLock::new();
    EXPORTS.get_or_init(Exports::find)
}

/// Whether a recorder is loaded into this process: without one all of this crate does nothing.
pub fn is_recorded() -> bool {
    exports().stats.is_some()
}

/// Whether anybody hears of marks, scopes and events: a recorder that was loaded, or one that came
/// later.
#[doc(hidden)]
pub fn is_heard() -> bool {
    is_recorded() || door::is_open()
}

/// The same; if not, that is said.
pub(crate) fn hears() -> bool {
    is_heard() || tell_of_none()
}

/// Whether there are numbers. If not, that is said, or TIDEMARK_REQUIRED makes it a panic: tests
/// whose budgets nobody counts must not pass where they are to be judged.
pub(crate) fn is_there() -> bool {
    if is_recorded() {
        return true;
    }
    if std::env::var_os("TIDEMARK_REQUIRED").is_some_and(|value| !value.is_empty() && value != "0")
    {
        panic!("tidemark: no recorder here, and TIDEMARK_REQUIRED is set; {START}");
    }
    tell_of_none()
}

const START: &str = "start it with 'tidemark run', or 'cargo tidemark test'";

/// Once for each process. False.
fn tell_of_none() -> bool {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        eprintln!("tidemark: no recorder here, so heap numbers are 0 and assertions pass; {START}");
    });
    false
}

fn missing() -> io::Error {
    const ENOSYS: i32 = 38;
    io::Error::from_raw_os_error(ENOSYS)
}

fn done(status: c_int) -> io::Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The same of what a recorder that came later answers as well, at the door.
macro_rules! tell {
    ($name:ident $(, $argument:expr)*; $asks:expr) => {
        if exports().$name.is_some() {
            ask!($name $(, $argument)*)
        } else {
            // SAFETY: as above.
            unsafe { door::ask($asks) }
        }
    };
}

/// Calls what the recorder exports, if it does.
macro_rules! ask {
    ($name:ident $(, $argument:expr)*) => {
        match exports().$name {
            // SAFETY: pointers are to what the type of the export says, alive for the call.
            Some(function) => done(unsafe { function($($argument),*) }),
            None => Err(missing()),
        }
    };
}

pub(crate) fn stats(whose: Whose) -> io::Result<Numbers> {
    let mut numbers = Numbers::default();
    let place: *mut Numbers = &mut numbers;
    ask!(stats, whose as c_int, place.cast(), std::mem::size_of::<Numbers>())?;
    Ok(numbers)
}

pub(crate) fn mark(name: &CStr) -> io::Result<()> {
    tell!(mark, name.as_ptr(); Asks::mark(name))
}

pub(crate) fn pause() -> io::Result<()> {
    tell!(pause; Asks::pause())
}

pub(crate) fn resume() -> io::Result<()> {
    tell!(resume; Asks::resume())
}

pub(crate) fn dump(path: &CStr) -> io::Result<()> {
    tell!(dump, path.as_ptr(); Asks::dump(path))
}

pub(crate) fn event(weight: u64) -> io::Result<()> {
    tell!(event, weight; Asks::event(weight))
}

pub(crate) fn scope_begin(name: &CStr) -> io::Result<()> {
    tell!(scope_begin, name.as_ptr(); Asks::scope_begin(name))
}

pub(crate) fn scope_end() -> io::Result<()> {
    tell!(scope_end; Asks::scope_end())
}

pub(crate) fn pool_begin() -> io::Result<()> {
    tell!(pool_begin; Asks::pool_begin())
}

pub(crate) fn pool_end() -> io::Result<()> {
    tell!(pool_end; Asks::pool_end())
}

// Addresses are numbers to the recorder, so that any may be given.

pub(crate) fn block_alloc(block: *const c_void, bytes: usize) -> io::Result<()> {
    tell!(block_alloc, block, bytes; Asks::block_alloc(block, bytes))
}

pub(crate) fn block_free(block: *const c_void) -> io::Result<()> {
    tell!(block_free, block; Asks::block_free(block))
}

pub(crate) fn blocks_free(from: *const c_void, bytes: usize) -> io::Result<()> {
    tell!(blocks_free, from, bytes; Asks::blocks_free(from, bytes))
}

pub(crate) fn pprof_write(fd: c_int) -> io::Result<()> {
    tell!(pprof_write, fd; Asks::pprof_write(fd))
}

/// An open region. Wherever it lies: the recorder knows it by its content.
#[derive(Debug)]
pub(crate) struct Open(Opaque);

impl Open {
    pub(crate) fn begin(whose: Whose) -> io::Result<Self> {
        let mut open = Self(Opaque([0; 24]));
        let place: *mut Opaque = &mut open.0;
        ask!(region_begin, place.cast(), std::mem::size_of::<Opaque>(), whose as c_int)?;
        Ok(open)
    }

    pub(crate) fn read(&self) -> io::Result<Numbers> {
        let mut numbers = Numbers::default();
        let region: *const Opaque = &self.0;
        let place: *mut Numbers = &mut numbers;
        ask!(region_read, region.cast(), place.cast(), std::mem::size_of::<Numbers>())?;
        Ok(numbers)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let region: *mut Opaque = &mut self.0;
        // What fails here is not open any more, or another thread's, and ends with that.
        let _ = ask!(region_end, region.cast(), std::ptr::null_mut(), 0);
    }
}
