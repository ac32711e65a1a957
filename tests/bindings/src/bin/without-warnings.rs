//! A program that calls none of the tools, whose functions are private to it. The compiler must not warn of them.

#![deny(warnings)]

mod tools {
    include!(concat!(env!("OUT_DIR"), "/everything.include.rs"));
    include!(concat!(env!("OUT_DIR"), "/shapes.include.rs"));
}

fn main() {}
