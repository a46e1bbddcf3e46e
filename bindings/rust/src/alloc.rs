// SPDX-License-Identifier: Apache-2.0
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

// Of the recorder, which is linked. Each calls what it is given and records that as one event, with
// the stack that leads here; what the allocator asks of malloc meanwhile is not counted again.
extern "C" {
    fn tidemark_v1_around_alloc(
        alloc: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        given: *mut c_void,
        bytes: usize,
    ) -> *mut c_void;
    fn tidemark_v1_around_resize(
        resize: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
        given: *mut c_void,
        old: *mut c_void,
        bytes: usize,
    ) -> *mut c_void;
    fn tidemark_v1_around_free(
        release: unsafe extern "C" fn(*mut c_void),
        given: *mut c_void,
        block: *mut c_void,
    );
}

/// Any global allocator, with the recorder around it: no launcher is needed, and none of the
/// allocator's symbols. With the feature `link`.
///
/// ```ignore
/// #[global_allocator]
/// static ALLOCATOR: tidemark::Alloc<Jemalloc> = tidemark::Alloc::new(Jemalloc);
/// ```
///
/// The program leaves `tidemark.NAME.PID.store` in its directory, which `tidemark report` opens;
/// under `tidemark run` it is recorded as any other. The standard library's allocator needs none of
/// this: with the feature alone it is recorded.
#[derive(Debug, Default)]
pub struct Alloc<A>(A);

impl<A> Alloc<A> {
    /// Around `allocator`.
    pub const fn new(allocator: A) -> Self {
        Self(allocator)
    }
}

/// What one call is about.
struct Call<'a, A> {
    allocator: &'a A,
    block: *mut u8,
    layout: Layout,
    bytes: usize,
}

impl<A> Call<'_, A> {
    fn given(&self) -> *mut c_void {
        (self as *const Self).cast_mut().cast()
    }
}

// SAFETY of all four: they are called with a `Call<A>` that outlives them, whose layout and block
// are the caller's of the method of the same name.

unsafe extern "C" fn alloc<A: GlobalAlloc>(given: *mut c_void) -> *mut c_void {
    unsafe {
        let call = &*given.cast::<Call<A>>();
        call.allocator.alloc(call.layout).cast()
    }
}

unsafe extern "C" fn alloc_zeroed<A: GlobalAlloc>(given: *mut c_void) -> *mut c_void {
    unsafe {
        let call = &*given.cast::<Call<A>>();
        call.allocator.alloc_zeroed(call.layout).cast()
    }
}

unsafe extern "C" fn realloc<A: GlobalAlloc>(given: *mut c_void) -> *mut c_void {
    unsafe {
        let call = &*given.cast::<Call<A>>();
        call.allocator.realloc(call.block, call.layout, call.bytes).cast()
    }
}

unsafe extern "C" fn dealloc<A: GlobalAlloc>(given: *mut c_void) {
    unsafe {
        let call = &*given.cast::<Call<A>>();
        call.allocator.dealloc(call.block, call.layout);
    }
}

// SAFETY: every call is passed on as it is, once, and its result given back as it is.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Alloc<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size();
        let call = Call { allocator: &self.0, block: std::ptr::null_mut(), layout, bytes };
        unsafe { tidemark_v1_around_alloc(alloc::<A>, call.given(), bytes).cast() }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let bytes = layout.size();
        let call = Call { allocator: &self.0, block: std::ptr::null_mut(), layout, bytes };
        unsafe { tidemark_v1_around_alloc(alloc_zeroed::<A>, call.given(), bytes).cast() }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let call = Call { allocator: &self.0, block, layout, bytes };
        unsafe { tidemark_v1_around_resize(realloc::<A>, call.given(), block.cast(), bytes).cast() }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let call = Call { allocator: &self.0, block, layout, bytes: 0 };
        unsafe { tidemark_v1_around_free(dealloc::<A>, call.given(), block.cast()) }
    }
}
