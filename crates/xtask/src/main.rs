fn main() {
    let p = xtask::schema::write(&xtask::repository::root()).unwrap();
    println!("{}", p.display());
}
