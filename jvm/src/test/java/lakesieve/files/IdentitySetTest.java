package lakesieve.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** Sets and maps of objects by identity. */
class IdentitySetTest {
  /** Equal objects are two members. */
  @Test
  void knowsObjectsNotValues() {
    IdentitySet set = new IdentitySet();
    var first = new ArrayList<String>();
    var second = new ArrayList<String>();
    assertEquals(first, second);

    assertTrue(set.add(first));
    assertFalse(set.add(first));
    assertFalse(set.contains(second));
    assertTrue(set.add(second));
    assertTrue(set.contains(first) && set.contains(second));
  }

  /** An object that is garbage is forgotten. */
  @Test
  void forgetsGarbage() throws InterruptedException {
    IdentitySet set = new IdentitySet();
    for (int i = 0; i < 100; i++) set.add(new byte[10]);

    // the collector puts references into the queue some time after it ran
    for (int tries = 0; tries < 50 && set.references() > 10; tries++) {
      System.gc();
      Thread.sleep(10);
      set.add(set);
    }
    assertTrue(set.references() <= 10, set.references() + " references");
    assertTrue(set.contains(set));
  }

  /** A map has one value for each object, until the value is removed. */
  @Test
  void mapHasOneValueForEachObject() {
    IdentityMap<String> map = new IdentityMap<>();
    var first = new ArrayList<String>();
    var second = new ArrayList<String>();

    assertNull(map.put(first, "old"));
    assertEquals("old", map.put(first, "new"));
    assertNull(map.get(second));
    assertEquals("new", map.get(first));
    assertEquals("new", map.put(first, null));
    assertNull(map.get(first));
  }
}
