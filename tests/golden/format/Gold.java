import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.Uuid;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
public class Gold {
  static void put(String name, ByteBuffer b) throws Exception {
    byte[] a = new byte[b.remaining()]; b.duplicate().get(a);
    Files.write(Paths.get(name), a); System.out.println(name + " " + a.length);
  }
  static MemoryRecords make(Compression c, TimestampType t) {
    MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), (byte) 2, c, t, 1000L,
        1700000009999L, 7L, (short) 3, 11, true, false, 42);
    for (int i = 0; i < 5; i++) {
      Header[] h = { new RecordHeader("trace", new byte[]{1, 2, (byte) i}), new RecordHeader("n\u00e9ant", (byte[]) null) };
      byte[] value = i == 3 ? null : (("value-" + i + "-").repeat(400 + i)).getBytes();
      b.append(1700000000000L + 10L * i, i == 4 ? null : ("key-" + i).getBytes(), value, i % 2 == 0 ? h : new Header[0]);
    }
    return b.build();
  }
  public static void main(String[] x) throws Exception {
    put("batch-none.bin", make(Compression.NONE, TimestampType.CREATE_TIME).buffer());
    put("batch-gzip.bin", make(Compression.gzip().build(), TimestampType.CREATE_TIME).buffer());
    put("batch-snappy.bin", make(Compression.snappy().build(), TimestampType.CREATE_TIME).buffer());
    put("batch-lz4.bin", make(Compression.lz4().build(), TimestampType.CREATE_TIME).buffer());
    put("batch-zstd.bin", make(Compression.zstd().build(), TimestampType.CREATE_TIME).buffer());
    put("batch-append-time.bin", make(Compression.NONE, TimestampType.LOG_APPEND_TIME).buffer());
    Uuid d1 = Uuid.fromString("vVWAweqkRhqksC9dk42J8Q"), d2 = Uuid.fromString("YabyXINkS7WFoc_9PzSg0w");
    LeaderChangeMessage.Voter v1 = new LeaderChangeMessage.Voter().setVoterId(2).setVoterDirectoryId(d1);
    LeaderChangeMessage.Voter v2 = new LeaderChangeMessage.Voter().setVoterId(3).setVoterDirectoryId(d2);
    v2.unknownTaggedFields().add(new RawTaggedField(9, new byte[]{5, 6}));
    LeaderChangeMessage m = new LeaderChangeMessage().setVersion((short) 1).setLeaderId(3)
      .setVoters(List.of(v1, v2)).setGrantingVoters(List.of(v2));
    m.unknownTaggedFields().add(new RawTaggedField(200, new byte[]{(byte) 0xff}));
    put("leader-change-v1.value.bin", org.apache.kafka.common.protocol.MessageUtil.toByteBufferAccessor(m, (short) 1).buffer());
    VotersRecord r = new VotersRecord().setVersion((short) 0).setVoters(List.of(new VotersRecord.Voter().setVoterId(1).setVoterDirectoryId(d1)
      .setEndpoints(new VotersRecord.EndpointCollection(List.of(new VotersRecord.Endpoint().setName("CONTROLLER").setHost("h\u00f6st").setPort(65535)).iterator()))
      .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature().setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1))));
    r.voters().get(0).unknownTaggedFields().add(new RawTaggedField(1, new byte[]{7}));
    r.voters().get(0).kRaftVersionFeature().unknownTaggedFields().add(new RawTaggedField(2, new byte[0]));
    put("voters-v0.value.bin", org.apache.kafka.common.protocol.MessageUtil.toByteBufferAccessor(r, (short) 0).buffer());
  }
}
