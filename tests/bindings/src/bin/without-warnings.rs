//! A program that calls none of the functions for tools, although they are private. The compiler must not warn about
//! them.

#![deny(warnings)]

mod tools {
    include!(concat!(env!("OUT_DIR"), "/everything.include.rs"));
    include!(concat!(env!("OUT_DIR"), "/shapes.include.rs"));
}

fn main() {}
