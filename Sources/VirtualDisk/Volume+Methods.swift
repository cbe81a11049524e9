import CSQLite

extension Volume {
  private static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> Volume? {
    vfs?.pointee.pAppData.map { Unmanaged<Volume>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Returns the callbacks of SQLite's virtual file system. Time never passes in them, and sleeping returns at once.
  static func vfs() -> sqlite3_vfs {
    var vfs = sqlite3_vfs()
    vfs.iVersion = 2
    vfs.szOsFile = Int32(MemoryLayout<waymark_file>.size)
    vfs.mxPathname = 512
    vfs.xOpen = { vfs, name, file, flags, outFlags in
      guard let volume = Volume.of(vfs), let file else { return SQLITE_CANTOPEN }
      file.pointee.pMethods = nil
      let (handle, code) = volume.open(name.map { String(cString: $0) }, flags)
      guard let handle else { return code }
      outFlags?.pointee = flags
      handle.attach(to: file, volume.methods)
      return SQLITE_OK
    }
    vfs.xDelete = { vfs, name, syncsDirectory in
      guard let volume = Volume.of(vfs), let name else { return FailureCode.delete }
      return volume.delete(String(cString: name), syncsDirectory: syncsDirectory != 0)
    }
    vfs.xAccess = { vfs, name, _, result in
      guard let volume = Volume.of(vfs), let name else { return FailureCode.access }
      result?.pointee = volume.exists(String(cString: name)) ? 1 : 0
      return SQLITE_OK
    }
    vfs.xFullPathname = { _, name, capacity, result in
      guard let name, let result else { return SQLITE_CANTOPEN }
      let bytes = UnsafeBufferPointer(start: name, count: String(cString: name).utf8.count + 1)
      guard bytes.count <= Int(capacity) else { return SQLITE_CANTOPEN }
      _ = UnsafeMutableBufferPointer(start: result, count: Int(capacity)).initialize(from: bytes)
      return SQLITE_OK
    }
    vfs.xRandomness = { vfs, count, bytes in
      Volume.of(vfs)?.fill(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
      return count
    }
    vfs.xSleep = { _, microseconds in microseconds }
    vfs.xCurrentTime = { _, days in
      days?.pointee = 2_440_587.5
      return SQLITE_OK
    }
    vfs.xCurrentTimeInt64 = { _, milliseconds in
      milliseconds?.pointee = 210_866_760_000_000
      return SQLITE_OK
    }
    return vfs
  }
}
