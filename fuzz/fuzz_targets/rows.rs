#![no_main]
outercore_fuzz::target!("rows");
